import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openDatabase, postgresDatabases, postgresUrl } from "@heddle/control-plane/testing";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finished, heddle, ownerKey } from "./faults/heddle-process.js";
import type { Child } from "./faults/heddle-process.js";

// Several services, each a process with a data directory of its own, on one ClickHouse and one control plane.

/** Long enough for a process that waits for its turn on a busy machine, and much shorter than a service's 12 s. */
const leaseMs = 3000;
const polling = { timeout: 20_000, interval: 100 };

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

describe.each(ends)("services that share a control plane on %s", { timeout: 60_000 }, (end, makeDatabase) => {
  let engine: Awaited<ReturnType<typeof startEngineHost>>;
  let databaseUrl: string;
  /** The service that writes now. Every story begins with one and leaves one. */
  let writer: Service;
  const stored: string[] = [];
  beforeAll(async () => {
    engine = await startEngineHost({ directory: join(root, `engine-${end}`), listen: { port: 0 } });
    databaseUrl = await makeDatabase();
    writer = await started("first");
  });
  afterAll(async () => {
    writer.child.kill("SIGKILL");
    await engine.close();
  });

  function start(name: string, env: Record<string, string> = { HEDDLE_DATABASE_URL: databaseUrl }): Child {
    const clickhouse = new URL(engine.url);
    clickhouse.username = "default";
    clickhouse.password = engine.password ?? "";
    const settings = {
      HEDDLE_DATA_DIR: join(root, `${end}-${name}`),
      HEDDLE_PORT: "0",
      HEDDLE_OTLP_GRPC_PORT: "off",
      HEDDLE_API_KEY: ownerKey,
      HEDDLE_CLICKHOUSE_URL: clickhouse.href,
      HEDDLE_LEASE: String(leaseMs / 1000),
    };
    const child = heddle(["serve"], { ...settings, ...env });
    children.push(child);
    return child;
  }

  const started = (name: string): Promise<Service> => listening(name, start(name));

  /** Writes a call of this id, and expects it to be stored from now on. */
  async function writeAs({ url }: Service, id: string): Promise<void> {
    expect(await write(url, id)).toBe(200);
    stored.push(id);
    expect(await idsOf(url)).toEqual(stored.toSorted());
  }

  /** Runs `work` while the control plane does not respond, so that no service can learn whether it has been replaced. */
  async function whileUnreachable(work: () => Promise<void>): Promise<void> {
    const control = openDatabase(databaseUrl);
    await control.transaction(async (inside) => {
      await inside.run("UPDATE leases SET beat = beat");
      await work();
    });
    await control.close();
  }

  test("a service is not let in while another one writes, and names it", async () => {
    await writeAs(writer, "one");
    const { code, err } = await finished(start("second"));
    expect(code).toBe(1);
    expect(err.split("\n").at(-2)).toMatch(
      new RegExp(
        `^heddle: the tracing database is in use by \\S+ \\(process ${writer.child.pid}, .*-first\\)\\. Stop that one first: only one service writes, unless all of them have HEDDLE_REPLICA_ADDRESS\\.$`,
      ),
    );
    await writeAs(writer, "still one");
  });

  test("a service with another control plane is not let in, whoever writes", async () => {
    const { code, err } = await finished(start("stranger", {}));
    expect(code).toBe(1);
    expect(err).toMatch(
      /^heddle: The tracing database "trace" belongs to another Heddle \(control plane [0-9a-f-]{36}\): .*\n$/,
    );
  });

  test("a writer whose control plane does not respond rejects writes, and accepts them when it responds again", async () => {
    await whileUnreachable(async () => {
      await expect.poll(() => write(writer.url, "two"), polling).toBe(503);
    });
    await expect.poll(() => write(writer.url, "two"), polling).toBe(200);
    stored.push("two");
  });

  test("a writer that was stopped is replaced, and writes nothing when it goes on", async () => {
    const first = writer;
    const end = finished(first.child);
    first.child.kill("SIGSTOP");
    writer = await started("second");
    await writeAs(writer, "three");
    // It goes on before it can learn that it was replaced, and ends when it does.
    await whileUnreachable(async () => {
      first.child.kill("SIGCONT");
      expect(await write(first.url, "late")).toBe(503);
    });
    const { code, err } = await end;
    expect(code).toBe(1);
    expect(err.split("\n").at(-2)).toMatch(
      new RegExp(`^heddle: the tracing database was taken over by \\S+ \\(process ${writer.child.pid}, .*-second\\)`),
    );
    expect(await idsOf(writer.url)).toEqual(stored.toSorted());
  });

  test("a writer that was killed is replaced when its lease has run out", async () => {
    const killed = writer;
    killed.child.kill("SIGKILL");
    await once(killed.child, "close");
    const began = performance.now();
    writer = await started("third");
    expect(performance.now() - began).toBeGreaterThan(leaseMs);
    expect(writer.log()).toMatch(
      / in use by \S+ \(process \d+, .*-second\): taking over unless it renews its lease within 3 s\n/,
    );
    expect(await idsOf(writer.url)).toEqual(stored.toSorted());
    await writeAs(writer, "four");
  });

  test("a writer that ends by SIGTERM gives up its lease, and the next one does not wait", async () => {
    const ended = finished(writer.child);
    writer.child.kill("SIGTERM");
    expect((await ended).code).toBe(0);
    writer = await started("fourth");
    expect(writer.log()).toBe("");
    expect(await idsOf(writer.url)).toEqual(stored.toSorted());
  });
});

interface Service {
  name: string;
  child: Child;
  url: string;
  /** What it wrote to stderr. */
  log(): string;
}

async function listening(name: string, child: Child): Promise<Service> {
  let [out, err] = ["", ""];
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  return await new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
      const url = /listening on\s+(\S+)/.exec(out)?.[1];
      if (url !== undefined) resolve({ name, child, url, log: () => err });
    });
    child.once("close", (code) => reject(new Error(`heddle ended with code ${code}: ${out}${err}`)));
  });
}

const headers = { authorization: `Bearer ${ownerKey}`, "content-type": "application/json" };
const projectId = "local/demo";

let writes = 0;

/** Writes a call, never the same twice: what is stored already would be acknowledged without writing. */
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
async function idsOf(url: string): Promise<string[]> {
  const body = JSON.stringify({ project_id: projectId });
  const text = await (await fetch(`${url}/calls/stream_query`, { method: "POST", headers, body })).text();
  const ids = text.split("\n").flatMap((line) => (line === "" ? [] : [(JSON.parse(line) as { id: string }).id]));
  return ids.toSorted();
}
