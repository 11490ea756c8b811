/**
 * What a start, a start after a kill and the minute's repair cost, and single reads, by the size of the store: time, and the
 * most rows that any of their statements reads. The engine makes the calls.
 *
 *   node --import tsx --conditions @heddle/source packages/trace-store/bench/recovery.ts [--calls 100000,1000000]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@clickhouse/client";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { newId } from "@heddle/trace-model";
import { connectEngine } from "../src/engine/engine.js";
import type { Engine, Statement, StatementSource } from "../src/engine/engine.js";
import { openTraceStore } from "../src/store.js";
import type { TraceStore } from "../src/store.js";
import { fillCalls, newCall } from "./many-calls.js";

const sizes = (process.argv[2] === "--calls" ? (process.argv[3] ?? "") : "100000,1000000,10000000,30000000")
  .split(",")
  .map(Number);
const database = "bench_recovery";
/** Rows that are new at a start. */
const newCalls = 2000;

const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
const host = await startEngineHost({ directory });
const client = createClient({ ...host.clientOptions(), database, keep_alive: { idle_socket_ttl: 0 } });
const engine = connectEngine(host.clientOptions(), database);
let sent: Statement[] = [];
const table: Record<string, Record<string, string>> = {};

await (await open()).close();
let stored = 0;
for (const size of sizes) {
  await fillCalls(engine, stored, size - stored);
  stored = size;
  // Until merges have ended: they would be part of what is measured.
  for (const name of ["calls", "call_ids"]) await engine.command({ sql: `OPTIMIZE TABLE ${name}` });
  table[size] = await measure(size);
  console.table(table);
}
await client.close();
await engine.close();
await host.close();
rmSync(directory, { recursive: true, force: true });

async function open(): Promise<TraceStore> {
  const options = { client: host.clientOptions(), database, controlPlaneId: "bench", wrapEngine: recorded };
  return await openTraceStore(options);
}

async function measure(size: number): Promise<Record<string, string>> {
  const result: Record<string, string> = {};
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    sent = [];
    const began = performance.now();
    const value = await work();
    const ms = performance.now() - began;
    result[name] = `${ms.toFixed(0)} ms, ${await mostRows()} rows`;
    return value;
  };
  const ingest = async (store: TraceStore) => {
    for (let from = 0; from < newCalls; from += 100) {
      await store.ingest(Array.from({ length: 100 }, () => newCall("bench/1", newId())));
    }
  };
  let store = await open();
  await store.maintain();
  await ingest(store);
  await store.close();
  store = await timed("start", open);
  await ingest(store);
  // The one before is as if it were killed.
  store = await timed("start after a kill", open);
  await ingest(store);
  await timed("repair", () => store.maintain());
  const [old] = await engine.rows<{ dated: string; undated: string; trace_id: string }>({
    sql: `SELECT anyIf(id, length(id) = 36) AS dated, anyIf(id, length(id) = 16) AS undated, any(trace_id) AS trace_id FROM
      (SELECT id, trace_id FROM calls WHERE project_id = 'bench/1' OR project_id = 'bench/2' LIMIT 1000)`,
  });
  const { dated = "", undated = "", trace_id: traceId = "" } = old ?? {};
  const read = async (id: string) => await store.calls.read({ project_id: "bench/1", id });
  await timed("by id (UUIDv7)", () => read(dated));
  await timed("by id (hex)", () => read(undated));
  await timed("by id (unknown)", () => read("0000000000000000"));
  const list = async (filter: object, limit: number) => {
    for await (const _ of store.calls.query({ project_id: "bench/1", filter, limit })) continue;
  };
  await timed("trace", () => list({ trace_ids: [traceId] }, 1000));
  await timed("newest 50", async () => {
    const sort = [{ field: "started_at", direction: "desc" as const }];
    for await (const _ of store.calls.query({ project_id: "bench/1", limit: 50, sort_by: sort })) continue;
  });
  await timed("count", () => store.calls.count({ project_id: "bench/1" }));
  result["memory"] = `${Math.round(process.memoryUsage.rss() / 2 ** 20)} MB`;
  await store.close();
  console.log(size, result);
  return result;
}

function recorded(plain: Engine): Engine {
  const note = (source: StatementSource): Statement => {
    const statement = typeof source === "function" ? source() : source;
    sent.push(statement);
    return statement;
  };
  return {
    ...plain,
    rows: (statement, options) => plain.rows(note(statement), options),
    stream: (statement, options) => plain.stream(note(statement), options),
  };
}

/** The most rows that one of the statements reads, by the engine's own count. */
async function mostRows(): Promise<number> {
  let most = 0;
  for (const { sql, params } of sent.splice(0)) {
    if (sql.includes("system.")) continue;
    const result = await client.query({ query: sql, query_params: params?.values, format: "JSON" });
    most = Math.max(most, (await result.json()).statistics?.rows_read ?? 0);
  }
  return most;
}
