import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { Agent, request } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { engineQuery } from "./engine-query.js";
import { openHeddle, ownerKey } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { wire } from "./wire.js";

// Every step starts processes; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const projectId = "faults/aborts";
const megabyte = 1_000_000;
const linux = process.platform === "linux";
let heddle: HeddleProcess;
beforeAll(async () => {
  heddle = await openHeddle();
  const text = "x".repeat(20_000);
  for (let batch = 0; batch < 20; batch++) {
    const items = Array.from({ length: 100 }, (_, index) => ({
      project_id: projectId,
      id: `${batch}-${index}`,
      trace_id: "t",
      op_name: "work",
      started_at: "2026-07-01T00:00:00Z",
      ended_at: "2026-07-01T00:00:01Z",
      attributes: {},
      inputs: { text },
      output: null,
      summary: {},
    }));
    await wire(heddle.url).ask(`/v2/${projectId}/calls/complete`, { batch: items });
  }
}, 180_000);
afterAll(() => heddle.remove());

const engine = (sql: string) => engineQuery(join(heddle.data, "clickhouse", "engine.sock"), sql);

/** Statements of the service that run in the engine now. */
async function running(): Promise<number> {
  return (await engine("SELECT query_id FROM system.processes WHERE query NOT LIKE '%system.processes%'")).length;
}

const agent = new Agent({ keepAlive: false });
function open(path: string, headers: Record<string, string | number> = {}): ClientRequest {
  const { hostname, port } = new URL(heddle.url);
  const authorization = `Bearer ${ownerKey}`;
  return request({ hostname, port, path, method: "POST", agent, headers: { authorization, ...headers } });
}

/** Asks for a stream of 40 MB and reads its first piece. */
async function beginStream(): Promise<IncomingMessage> {
  const asked = open("/calls/stream_query");
  asked.on("error", () => undefined);
  asked.end(JSON.stringify({ project_id: projectId }));
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  await once(response, "readable");
  response.read(1000);
  return response;
}

interface Usage {
  /** Open sockets; beside them the engine's threads hold files of their own. */
  connections: number;
  memory: number;
}

function usage(pid: number): Usage {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
  const isSocket = (file: string) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${file}`).startsWith("socket:");
    } catch {
      return false; // Closed meanwhile.
    }
  };
  return { connections: readdirSync(`/proc/${pid}/fd`).filter(isSocket).length, memory: pages * 4096 };
}

const usages = () => ({ service: usage(heddle.pid()), engine: usage(heddle.enginePid()) });

test("a client that leaves in the middle of a stream stops its query in the engine", async () => {
  const streams = await Promise.all([beginStream(), beginStream(), beginStream()]);
  await expect.poll(running, { timeout: 20_000 }).toBeGreaterThan(0);
  // Nobody reads: the rows wait in the engine, and the query makes no progress.
  let rowsBefore: string | undefined;
  const stalled = async () => {
    const [rows] = await engine(
      "SELECT sum(read_rows) FROM system.processes WHERE query NOT LIKE '%system.processes%'",
    );
    const same = rows === rowsBefore;
    rowsBefore = rows;
    return same;
  };
  await expect.poll(stalled, { timeout: 20_000, interval: 100 }).toBe(true);
  expect(await running()).toBeGreaterThan(0);
  for (const response of streams) response.destroy();
  await expect.poll(running, { timeout: 10_000 }).toBe(0);
}, 60_000);

test("a client that leaves before the response stops its query in the engine", async () => {
  // Each of them reads every text of the project.
  const contains = (n: number) => ({ $contains: { input: { $getField: `inputs.k${n}` }, substr: { $literal: "y" } } });
  const query = { $expr: { $or: Array.from({ length: 400 }, (_, n) => contains(n)) } };
  const asked = open("/calls/query_stats");
  asked.on("error", () => undefined);
  asked.end(JSON.stringify({ project_id: projectId, query }));
  let responded = false;
  asked.on("response", () => (responded = true));
  await expect.poll(running, { timeout: 20_000, interval: 20 }).toBeGreaterThan(0);
  asked.destroy();
  await expect.poll(running, { timeout: 10_000, interval: 20 }).toBe(0);
  expect(responded).toBe(false);
}, 60_000);

test.runIf(linux)(
  "dozens of streams and bodies that were left hold neither connections nor memory",
  async () => {
    const round = async () => {
      for (let times = 0; times < 5; times++) {
        const streams = await Promise.all([beginStream(), beginStream(), beginStream()]);
        for (const response of streams) response.destroy();
        const bodies = [1, 2].map(() => {
          const sent = open("/call/upsert_batch", { "content-length": 20 * megabyte });
          sent.on("error", () => undefined);
          return new Promise<ClientRequest>((resolve) => {
            sent.write(Buffer.alloc(5 * megabyte, " "), () => resolve(sent));
          });
        });
        for (const sent of await Promise.all(bodies)) sent.destroy();
      }
      await expect.poll(running, { timeout: 20_000 }).toBe(0);
    };
    await round();
    const before = usages();
    await round();
    await round();
    await expect
      .poll(() => grown(before, usages()), { timeout: 30_000, interval: 500 })
      .toEqual({ service: { leak: false, memory: false }, engine: { leak: false, memory: false } });
    const after = usages();
    console.log(
      `client aborts: service ${mb(before.service)} -> ${mb(after.service)}, engine ${mb(before.engine)} -> ${mb(after.engine)}`,
    );
    expect((await wire(heddle.url).post("/call/read", { project_id: projectId, id: "0-0" })).status).toBe(200);
  },
  180_000,
);

/** Thirty streams of 40 MB and twenty bodies of 5 MB: what stayed of them would be far more. */
function grown(before: ReturnType<typeof usages>, now: ReturnType<typeof usages>) {
  const more = (a: Usage, b: Usage) => ({
    leak: b.connections > a.connections + 8,
    memory: b.memory > a.memory + 300 * megabyte,
  });
  return { service: more(before.service, now.service), engine: more(before.engine, now.engine) };
}

const mb = ({ connections, memory }: Usage): string => `${Math.round(memory / megabyte)} MB, ${connections} sockets`;
