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
const unknown = "0000000000000000";
/** Rows that are new at a start. */
const newCalls = 2000;

const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
const host = await startEngineHost({ directory });
const client = createClient({ ...host.clientOptions(), database, keep_alive: { idle_socket_ttl: 0 } });
const engine = connectEngine(host.connection(), database);
let sent: Statement[] = [];
const table: Record<string, Record<string, string>> = {};

await (await open()).close();
let stored = 0;
for (const size of sizes) {
  await fillCalls(engine, stored, size - stored);
  stored = size;
  // What the engine made looks older than what is indexed: as a store of an earlier version, it is indexed as a whole.
  for (const name of ["watermarks", "call_ids"]) await engine.command({ sql: `TRUNCATE TABLE ${name}` });
  const store = await open();
  await store.maintain();
  await store.close();
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
  const options = { client: host.connection(), database, controlPlaneId: "bench", wrapEngine: recorded };
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
  /** The median of some, and the rows of one. */
  const timedOften = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const times: number[] = [];
    while (times.length < 15) {
      sent = [];
      const began = performance.now();
      await work();
      times.push(performance.now() - began);
    }
    result[name] = `${times.toSorted((a, b) => a - b)[7]?.toFixed(1)} ms, ${await mostRows()} rows`;
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
  // One project has ids that carry their time, the next one has not.
  const oldOf = async (projectId: string) => {
    const sql = `SELECT id, trace_id FROM calls WHERE project_id = '${projectId}' LIMIT 1`;
    const [old] = await engine.rows<{ id: string; trace_id: string }>({ sql });
    return old ?? { id: "", trace_id: "" };
  };
  const [dated, undated] = [await oldOf("bench/2"), await oldOf("bench/1")];
  const read = async (projectId: string, id: string) => {
    const found = await store.calls.read({ project_id: projectId, id });
    if ((found === undefined) !== (id === unknown)) throw new Error(`${id} is ${found ? "" : "not "}found`);
  };
  await timedOften("by id (UUIDv7)", () => read("bench/2", dated.id));
  await timedOften("by id (hex)", () => read("bench/1", undated.id));
  await timedOften("by id (unknown)", () => read("bench/1", unknown));
  const list = async (filter: object, limit: number) => {
    for await (const _ of store.calls.query({ project_id: "bench/1", filter, limit })) continue;
  };
  await timedOften("trace", () => list({ trace_ids: [undated.trace_id] }, 1000));
  await timedOften("newest 50", async () => {
    const sort = [{ field: "started_at", direction: "desc" as const }];
    for await (const _ of store.calls.query({ project_id: "bench/1", limit: 50, sort_by: sort })) continue;
  });
  await timedOften("count", () => store.calls.count({ project_id: "bench/1" }));
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
