import { openDatabase } from "@heddle/control-plane/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Running } from "../../src/boot/start.js";
import { batchOf } from "./batch-of.js";
import { finished, heddle, ownerKey } from "./heddle-process.js";
import { idsIn } from "./ids-in.js";
import { openSharedStores } from "./shared-stores.js";
import type { SharedStores } from "./shared-stores.js";

// One of the stores that replicas share is restored to yesterday: here by the numbers of writers that it has from then.

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
const polling = { timeout: 60_000, interval: 100 };

let stores: SharedStores;
let replica: Running;
let log = "";
const start = async () => {
  log = "";
  replica = await stores.start("replica", (line) => void (log += line));
};
beforeAll(async () => {
  stores = await openSharedStores(["east"]);
  // Each start is a further writer.
  for (const id of ["first", "second"]) {
    await start();
    for (const project of ["one", "two"]) expect(await write(project, id)).toBe(200);
    await replica.close();
  }
});
afterAll(async () => await stores.remove());

const headers = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };
const post = async (path: string, body: unknown) =>
  await fetch(replica.url + path, { method: "POST", headers, body: JSON.stringify(body) });
const write = async (project: string, id: string) => (await post("/call/upsert_batch", batchOf(project, id))).status;
const idsOf = async (project: string) =>
  await idsIn(await post("/calls/stream_query", { project_id: `local/${project}` }));

async function restoreControlPlane(shard: string): Promise<void> {
  const database = openDatabase(stores.databaseUrl);
  await database.run("UPDATE writer_epochs SET given = 1, stored = 1 WHERE shard = $1", [shard]);
  await database.close();
}

const older =
  /database of keys and projects was restored to an earlier state than the tracing database (\w+) has: .*heddle shards accept/;

test("one tracing database of yesterday is worked on, and what it lost is told with its name", async () => {
  const fence = "DROP CONSTRAINT writer, ADD CONSTRAINT writer CHECK 0 = 0 OR 0 >= 1";
  await stores.ask(`ALTER TABLE trace_east.calls ${fence}`);
  await stores.ask("ALTER TABLE trace_east.control_plane MODIFY COMMENT 'epoch 1'");
  await start();
  await expect.poll(() => log, polling).toMatch(/east: The tracing database was restored to an earlier state/);
  const check = await (await fetch(`${replica.url}/v1/system-check`, { headers })).text();
  expect(check).toContain("east: The tracing database was restored to an earlier state");
  expect(check.match(/was restored/g)).toHaveLength(1);
  for (const project of ["one", "two"]) {
    expect(await write(project, "third")).toBe(200);
    expect(await idsOf(project)).toEqual(["first", "second", "third"]);
  }
  await replica.close();
});

test("keys and projects of yesterday are refused with what to do, by a further database and by the first", async () => {
  await restoreControlPlane("east");
  await start();
  await expect.poll(() => log, polling).toMatch(older);
  expect(older.exec(log)?.[1]).toBe("east");
  // The other one goes on.
  expect(await idsOf("one")).toEqual(["first", "second", "third"]);
  await replica.close();

  await restoreControlPlane("main");
  await expect(start()).rejects.toThrow(older);

  const { code, out, err } = await finished(heddle(["shards", "accept"], stores.settingsOf("accepting")));
  expect([code, err, out]).toEqual([0, "", "main is accepted.\neast is accepted.\n"]);
  await start();
  for (const project of ["one", "two"]) expect(await idsOf(project)).toEqual(["first", "second", "third"]);
  await replica.close();
});
