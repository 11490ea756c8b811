import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openDatabase, postgresDatabases, postgresUrl } from "@heddle/control-plane/testing";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import type { EngineHost } from "@heddle/embedded-clickhouse";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finished, heddle, ownerKey } from "./faults/heddle-process.js";
import type { Child } from "./faults/heddle-process.js";

// Several services, each a process with a data directory of its own, on one ClickHouse and one control plane.

const root = mkdtempSync(join(tmpdir(), "heddle-writers-"));
const databases = postgresUrl === undefined ? undefined : postgresDatabases(postgresUrl);
const children: Child[] = [];
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await databases?.drop();
  rmSync(root, { recursive: true, force: true });
});

const sqlite = ["SQLite", async () => pathToFileURL(join(root, "control.db")).href] as const;
const ends = databases === undefined ? [sqlite] : [sqlite, ["Postgres", () => databases.make()] as const];

describe.concurrent.each(ends)("services that share a control plane on %s", (name, makeDatabase) => {
  let engine: EngineHost;
  let databaseUrl: string;
  beforeAll(async () => {
    engine = await startEngineHost({ directory: join(root, `engine-${name}`), listen: { port: 0 } });
    databaseUrl = await makeDatabase();
  });
  afterAll(async () => await engine.close());

  function start(directory: string, env: Record<string, string> = { HEDDLE_DATABASE_URL: databaseUrl }): Child {
    const clickhouse = new URL(engine.url);
    clickhouse.username = "default";
    clickhouse.password = engine.password ?? "";
    const child = heddle(["serve"], {
      HEDDLE_DATA_DIR: join(root, `${name}-${directory}`),
      HEDDLE_PORT: "0",
      HEDDLE_API_KEY: ownerKey,
      HEDDLE_CLICKHOUSE_URL: clickhouse.href,
      ...env,
    });
    children.push(child);
    return child;
  }

  test("only one of them writes: alive it keeps the others out, dead or stopped it is replaced", async () => {
    const first = start("first");
    const url = await ready(first);
    expect(await write(url, "one")).toBe(200);

    const refused = await finished(start("second"));
    expect(refused.code).toBe(1);
    expect(refused.err.split("\n").at(-2)).toMatch(
      new RegExp(
        `^heddle: the tracing database is in use by \\S+ \\(process ${first.pid}, .*-first\\)\\. Stop that one first: only one service writes\\.$`,
      ),
    );

    // The control plane does not answer: the writer cannot know whether it has been replaced.
    const control = openDatabase(databaseUrl);
    const whileDeaf = async (work: () => Promise<void>) =>
      await control.transaction(async (inside) => {
        await inside.run("UPDATE leases SET beat = beat");
        await work();
      });
    await whileDeaf(async () => {
      await expect.poll(() => write(url, "two"), { timeout: 20_000, interval: 200 }).toBe(503);
    });
    await expect.poll(() => write(url, "two"), { timeout: 20_000, interval: 200 }).toBe(200);

    // Stopped, it is replaced when its lease has run out. Awake again it writes nothing, even before it can learn of
    // that, and ends when it does.
    const end = finished(first);
    first.kill("SIGSTOP");
    const second = start("second");
    const secondUrl = await ready(second);
    expect(await write(secondUrl, "three")).toBe(200);
    await whileDeaf(async () => {
      first.kill("SIGCONT");
      expect(await write(url, "late")).toBe(503);
    });
    await control.close();
    const { code, err } = await end;
    expect(code).toBe(1);
    expect(err.split("\n").at(-2)).toMatch(
      new RegExp(`^heddle: the tracing database was taken over by \\S+ \\(process ${second.pid}, .*-second\\)`),
    );
    expect(await stored(secondUrl)).toEqual(["one", "three", "two"]);

    second.kill("SIGKILL");
    await once(second, "close");
    const third = start("third");
    const started = performance.now();
    let told = "";
    third.stderr.on("data", (chunk: Buffer) => (told += chunk.toString()));
    const thirdUrl = await ready(third);
    expect(told).toMatch(
      / in use by \S+ \(process \d+, .*-second\): taking over unless it renews its lease within 12 s\n/,
    );
    // The lease runs 12 s; the rest is the start of a process.
    expect(performance.now() - started).toBeGreaterThan(11_000);
    expect(await stored(thirdUrl)).toEqual(["one", "three", "two"]);
    expect(await write(thirdUrl, "four")).toBe(200);

    // One with another control plane is not let in, whoever writes.
    const stranger = await finished(start("stranger", {}));
    expect(stranger.code).toBe(1);
    expect(stranger.err).toMatch(
      /^heddle: The tracing database "trace" belongs to another Heddle \(control plane [0-9a-f-]{36}\): .*\n$/,
    );

    // In good order it gives the lease up, and the next need not wait.
    const handedOver = finished(third);
    third.kill("SIGTERM");
    expect((await handedOver).code).toBe(0);
    const fourth = start("fourth");
    let waited = "";
    fourth.stderr.on("data", (chunk: Buffer) => (waited += chunk.toString()));
    expect(await stored(await ready(fourth))).toEqual(["four", "one", "three", "two"]);
    expect(waited).toBe("");
    const done = finished(fourth);
    fourth.kill("SIGTERM");
    await done;
  }, 240_000);
});

async function ready(child: Child): Promise<string> {
  let out = "";
  return await new Promise((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      const url = /listening on\s+(\S+)/.exec(out)?.[1];
      if (url !== undefined) resolve(url);
    });
    child.once("close", (code) => reject(new Error(`heddle ended with code ${code}: ${out}`)));
  });
}

const headers = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };
const projectId = "local/demo";

let writes = 0;

/** Never the same twice: what is stored already would be answered without writing. */
async function write(url: string, id: string): Promise<number> {
  writes += 1;
  const start = {
    project_id: projectId,
    id,
    trace_id: id,
    op_name: "answer",
    started_at: "2026-04-10T09:00:00Z",
    inputs: {},
  };
  const end = { project_id: projectId, id, ended_at: "2026-04-10T09:00:01Z", summary: {}, output: writes };
  const batch = [
    { mode: "start", req: { start: { ...start, attributes: {} } } },
    { mode: "end", req: { end } },
  ];
  const body = JSON.stringify({ batch });
  return (await fetch(`${url}/call/upsert_batch`, { method: "POST", headers, body })).status;
}

/** Ids of every call, in order. */
async function stored(url: string): Promise<string[]> {
  const body = JSON.stringify({ project_id: projectId });
  const text = await (await fetch(`${url}/calls/stream_query`, { method: "POST", headers, body })).text();
  const ids = text.split("\n").flatMap((line) => (line === "" ? [] : [(JSON.parse(line) as { id: string }).id]));
  return ids.toSorted();
}
