import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { openControlPlane } from "@heddle/control-plane";
import type { ControlPlane } from "@heddle/control-plane";
import { openDatabase } from "@heddle/control-plane/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Running } from "../../src/boot/start.js";
import { shardLeaseName } from "../../src/boot/writer-lease.js";
import { hopHeaders } from "../../src/replicas/hop.js";
import { storeCallHeaders } from "../../src/shards/store-calls-signed.js";
import { encodeCall, readFrames, storePath } from "../../src/shards/store-wire.js";
import { batchOf } from "./batch-of.js";
import { finished, heddle, ownerKey } from "./heddle-process.js";
import { idsIn } from "./ids-in.js";
import { ReplicaLoad } from "./replica-load.js";
import { controlPlanes, openReplicas, replicaNames } from "./replica-set.js";
import type { ReplicaName } from "./replica-set.js";
import { openSharedStores } from "./shared-stores.js";
import type { SharedStores } from "./shared-stores.js";
import { untilTaken } from "./until-taken.js";

// While replicas are updated one by one, and when an update is taken back, a replica meets what a newer one has left and sends.

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let stores: SharedStores;
let replica: Running;
let control: ControlPlane;

beforeAll(async () => {
  stores = await openSharedStores(["east"]);
  replica = await stores.start("replica");
  control = await openControlPlane({ url: stores.databaseUrl });
  for (const project of projects) expect(await write(project, "before")).toBe(200);
});
afterAll(async () => {
  await replica.close();
  await control.close();
  await stores.remove();
});

/** Each in another tracing database. */
const projects = ["one", "two"] as const;

const headers = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };
const post = async (path: string, body: unknown, more = {}) =>
  await fetch(replica.url + path, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
const untilOpen = async (path: string, body: unknown) => await untilTaken(async () => await post(path, body));
const write = async (project: string, id: string) =>
  (await untilOpen("/call/upsert_batch", batchOf(project, id))).status;
const idsOf = async (project: string) =>
  await idsIn(await untilOpen("/calls/stream_query", { project_id: `local/${project}` }));
const ok = async (path: string, body: unknown) => {
  const response = await untilOpen(path, body);
  expect(response.status, await response.clone().text()).toBe(200);
};

/** What the next release may add: a column to every table, a table, a step that older programs need not heed, a member. */
async function addAsNewerBuild(): Promise<void> {
  const database = openDatabase(stores.databaseUrl);
  const tables = await database.rows(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  );
  for (const { name } of tables) await database.run(`ALTER TABLE ${String(name)} ADD COLUMN of_later TEXT DEFAULT 'x'`);
  await database.run("CREATE TABLE of_later (x TEXT)");
  await database.run("INSERT INTO schema_additions (name, applied_at) VALUES ('of-later', 0)");
  await database.run(
    "INSERT INTO leases (name, holder, token, beat, address, of_later) VALUES ('replica later', 'later', 'later', 0, 'https://later:1/of?x', 'y')",
  );
  await database.close();
  for (const tracing of ["trace", "trace_east"]) {
    const names = (await stores.ask(`SELECT name FROM system.tables WHERE database = '${tracing}' FORMAT TSV`)).trim();
    for (const name of names.split("\n"))
      await stores.ask(`ALTER TABLE ${tracing}.${name} ADD COLUMN of_later String DEFAULT 'x'`);
    await stores.ask(`CREATE TABLE ${tracing}.of_later (x UInt8) ENGINE=MergeTree ORDER BY x`);
  }
}

test("a replica works on with what a newer one has added to every table", { timeout: 120_000 }, async () => {
  await replica.close();
  await addAsNewerBuild();
  replica = await stores.start("replica");
  for (const project of projects) {
    const id = `local/${project}`;
    expect(await write(project, "after")).toBe(200);
    expect(await write(project, "gone")).toBe(200);
    await ok("/call/update", { project_id: id, call_id: "after", display_name: "named" });
    await ok("/calls/delete", { project_id: id, call_ids: ["gone"] });
    await ok("/obj/create", { obj: { project_id: id, object_id: "config", val: { a: 1 } } });
    await ok("/table/create", { table: { project_id: id, rows: [{ a: 1 }] } });
    await ok("/feedback/create", {
      project_id: id,
      weave_ref: `weave:///${id}/call/after`,
      feedback_type: "note",
      payload: {},
    });
    await ok("/project/ttl_settings/update", { project_id: id, retention_days: 300 });
    expect(await idsOf(project)).toEqual(["after", "before"]);
  }
  expect(await write("three", "of-a-new-project")).toBe(200);
  const members = async () => {
    const { code, out } = await finished(heddle(["members", "--json"], { HEDDLE_DATABASE_URL: stores.databaseUrl }));
    expect(code).toBe(0);
    return JSON.parse(out) as unknown;
  };
  // A busy machine may renew a lease late, and take the database again.
  await expect
    .poll(members, { timeout: 60_000 })
    .toEqual(
      expect.arrayContaining([
        expect.objectContaining({ holder: "later", responds: false, lag_seconds: null, shards: [] }),
        expect.objectContaining({ responds: true, shards: expect.arrayContaining(["main", "east"]) }),
      ]),
    );
});

test("a request that a newer replica has forwarded is taken, whatever it says besides", async () => {
  const forwarded = hopHeaders(control, { remoteAddress: "10.0.0.1" } as never);
  const [name, value] = Object.entries(forwarded)[0] ?? ["", ""];
  const response = await post(
    "/call/read",
    { project_id: "local/one", id: "before" },
    { [name]: `${value} later=1`, "heddle-later": "x" },
  );
  expect(response.status).toBe(200);
});

/** As another replica asks the store of the first tracing database. */
async function ask(body: Buffer): Promise<unknown> {
  const signed = storeCallHeaders(control, "main");
  const response = await fetch(`${replica.url}${storePath}main`, {
    method: "POST",
    headers: signed,
    body: new Uint8Array(body),
  });
  expect(response.status).toBe(200);
  const chunks = [Buffer.from(await response.arrayBuffer())];
  const values: unknown[] = [];
  for await (const value of readFrames(from(chunks), async () => () => {})) values.push(value);
  return values;
}

async function* from(chunks: Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

const onlyTogether = { code: "busy", message: expect.stringMatching(/another version.*same version at all of them/) };

test("what a newer replica asks of a store is done as far as it is known, and refused clearly where it is not", async () => {
  const request = { project_id: "local/one", of_later: 1 };
  const call = { optionsAt: 1, sharer: undefined, of_later: "x" };
  expect(await ask(encodeCall({ ...call, name: "calls.count", args: [request, { of_later: 1 }, "of later"] }))).toEqual(
    [expect.objectContaining({ count: 2 })],
  );
  await expect(ask(encodeCall({ ...call, name: "calls.later", args: [request] }))).rejects.toMatchObject(onlyTogether);
  await expect(ask(Buffer.from([0xff, 0x7f, 0x6f]))).rejects.toMatchObject(onlyTogether);
  await expect(ask(Buffer.alloc(0))).rejects.toMatchObject(onlyTogether);
});

/** Checkout of an earlier version, with what `pnpm build` has made there. */
const previous = process.env["HEDDLE_PREVIOUS_CHECKOUT"];

if (previous !== undefined) {
  test.each(controlPlanes)(
    "replicas of the version before and of this one work side by side, and the update can be taken back, on %s",
    async (_, makeControlPlane) => {
      const before = join(previous, "packages/service/dist");
      const set = await openReplicas(makeControlPlane, { shards: ["east", "west"], lease: 6, dist: before });
      const names = replicaNames;
      const three = ["first", "second", "third"];
      const up = new Set<ReplicaName>(names);
      const load = new ReplicaLoad(three, () => [...up].map((name) => set.urlOf(name)));
      const check = async (when: string) => {
        for (const name of up) {
          for (const project of three) {
            const acknowledged = [...load.acknowledged(project)];
            const request = { method: "POST", headers, body: JSON.stringify({ project_id: `local/${project}` }) };
            const ids = await idsIn(await fetch(`${set.urlOf(name)}/calls/stream_query`, request));
            expect(ids, `${project} at ${name} ${when}`).toEqual(expect.arrayContaining(acknowledged));
            expect(new Set(ids).size).toBe(ids.length);
          }
        }
      };
      try {
        for (const [build, what] of [
          [undefined, "updated"],
          [before, "taken back"],
        ] as const) {
          for (const name of names) {
            up.delete(name);
            expect((await set.replicas[name].end("SIGTERM")).code).toBe(0);
            set.replicas[name].replace(build);
            await set.replicas[name].start();
            up.add(name);
            const written = load.acknowledgedNow();
            await expect.poll(() => load.acknowledgedNow(), { timeout: 60_000 }).toBeGreaterThan(written + 30);
            await check(`when ${name} is ${what}`);
          }
        }
        await load.end();
        await check("at the end");
        expect(load.failures).toEqual([]);
      } finally {
        await load.end();
        await set.remove();
      }
    },
    600_000,
  );
}

test("a response of a newer replica that cannot be read is told as what it is", async () => {
  await replica.close();
  // It has the database that the replica has left, and responds with what only newer ones know.
  const newer = createServer((_, response) => response.end(Buffer.from([9, 0, 0, 0, 0])));
  await new Promise<void>((resolve) => newer.listen(0, "127.0.0.1", resolve));
  const { port } = newer.address() as AddressInfo;
  const lease = await control.leases.acquire(shardLeaseName("east"), {
    holder: "newer",
    address: `http://127.0.0.1:${port}`,
    durationMs: 20_000,
  });
  try {
    replica = await stores.start("replica");
    const response = await post("/calls/query_stats", { project_id: "local/two" });
    expect([response.status, await response.text()]).toEqual([
      503,
      expect.stringContaining("same version at all of them"),
    ]);
    expect((await untilOpen("/calls/query_stats", { project_id: "local/one" })).status).toBe(200);
  } finally {
    await lease.release();
    await new Promise((resolve) => newer.close(resolve));
  }
});
