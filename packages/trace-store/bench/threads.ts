/**
 * The list of threads through the store, and the same sums in one statement over the plain table of calls, without
 * running, hidden and expired ones. Medians of one run.
 *
 *   node --import tsx --conditions @heddle/source packages/trace-store/bench/threads.ts [--calls 1000000]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { newId } from "@heddle/trace-model";
import type { CallPart } from "@heddle/trace-model";
import { connectEngine } from "../src/engine/engine.js";
import { openTraceStore } from "../src/store.js";
import type { ThreadsQuery } from "../src/threads/threads.js";

const callCount = process.argv[2] === "--calls" ? Number(process.argv[3]) : 100_000;
const rounds = 15;
const databaseName = "bench_threads";
const benchProject = "acme/bench";
/** Calls of a trace, whose root is a turn; turns of a thread. */
const [traceCalls, threadTurns] = [6, 10];
const firstUs = BigInt(Date.now()) * 1000n - BigInt(callCount) * 1_000_000n;
/** Filters are evaluated anew in every round. */
const fresh = { use_query_condition_cache: 0 } as const;

const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
const url = process.env["HEDDLE_CLICKHOUSE_URL"];
const host = url === undefined ? await startEngineHost({ directory }) : undefined;
const client = host?.connection() ?? { url };
const store = await openTraceStore({
  client,
  database: databaseName,
  controlPlaneId: "bench",
  wrapEngine: (inner) => ({
    ...inner,
    stream: (source, options) => inner.stream(source, { ...options, settings: { ...options?.settings, ...fresh } }),
  }),
});
const engine = connectEngine(client, databaseName);

await fill();
const table: Record<string, Record<string, number | string>> = {};
const newest = "ORDER BY last_updated DESC LIMIT 50";
await measure("newest 50", { limit: 50 }, "1", newest);
await measure(
  "50 with the slowest turns",
  { limit: 50, sort_by: [{ field: "p99_turn_duration_ms", direction: "desc" }] },
  "1",
  "ORDER BY durations[2] DESC LIMIT 50",
);
const someThreads = Array.from({ length: 10 }, (_, index) => `thread-${index * 37}`);
await measure(
  "10 by id",
  { filter: { thread_ids: someThreads } },
  `thread_id IN (${someThreads.map((id) => `'${id}'`).join(",")})`,
  "ORDER BY last_updated DESC",
);
const recent = firstUs + BigInt(callCount) * 950_000n;
await measure(
  "newest 50 of the last 5 %",
  { limit: 50, filter: { after_datetime: recent } },
  `started_at > fromUnixTimestamp64Micro(${recent}, 'UTC')`,
  newest,
);
await measure("all", {}, "1", "ORDER BY last_updated DESC");
console.log(
  `\n${callCount} calls, 80 % in one project, traces of ${traceCalls} with a turn at the root, threads of ${threadTurns} turns; 200 running, 50 replaced, 50 deleted; ms`,
);
console.table(table);

await store.close();
await engine.command({ sql: `DROP DATABASE ${databaseName}` });
await engine.close();
await host?.close();
rmSync(directory, { recursive: true, force: true });

/** Round by round, so that both see the same machine. */
async function measure(
  name: string,
  request: Omit<ThreadsQuery, "project_id">,
  condition: string,
  order: string,
): Promise<void> {
  const plain = `SELECT thread_id, count() AS turn_count, min(started_at), max(ended_at) AS last_updated,
    argMin(id, started_at), argMax(id, ended_at), quantilesExactInclusive(0.5, 0.99)(latency_us) AS durations
    FROM calls WHERE project_id = '${benchProject}' AND thread_id != '' AND turn_id = id AND ${condition}
    GROUP BY thread_id ${order}`;
  const times = { ours: [] as number[], plain: [] as number[] };
  let [threads, peak] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    threads = 0;
    const ours = async () => {
      for await (const _ of store.threads.query({ project_id: benchProject, ...request })) {
        if (++threads % 1000 === 0) peak = Math.max(peak, process.memoryUsage().rss);
      }
    };
    times.ours.push(await timed(ours));
    const bare = async () => {
      for await (const _ of engine.stream({ sql: plain }, { settings: fresh })) continue;
    };
    times.plain.push(await timed(bare));
  }
  const [a, b] = [median(times.ours), median(times.plain)];
  table[name] = {
    threads,
    store: rounded(a),
    "plain table": rounded(b),
    ratio: rounded(a / b),
    "within 1.5 ×": a <= 1.5 * b ? "yes" : "no",
    "peak RSS, MB": peak === 0 ? "" : Math.round(peak / 2 ** 20),
  };
}

/** Most rows are made by the engine; what only ingest can make goes through the store. */
async function fill(): Promise<void> {
  const block = 50_000;
  for (let from = 0; from < callCount; from += block) {
    await engine.command({ sql: rowsOf(from, Math.min(block, callCount - from)) });
  }
  const turn = (id: string, complete: boolean): CallPart => {
    const startedAt = BigInt(Date.now()) * 1000n;
    const ids = { project_id: benchProject, id, trace_id: id, thread_id: `late-${id.at(-1)}`, turn_id: id };
    const start = { ...ids, op_name: "late", started_at: startedAt, attributes: "{}", inputs: "{}" };
    const end = { project_id: benchProject, id, ended_at: startedAt + 1000n, output: "1", summary: "{}" };
    return complete ? { part: "complete", start, end } : { part: "start", start };
  };
  const ids = Array.from({ length: 300 }, () => newId());
  await store.ingest(ids.map((id, index) => turn(id, index >= 200)));
  await store.ingest(ids.slice(200, 250).map((id) => turn(id, true)));
  await store.calls.delete(benchProject, ids.slice(250), "bench");
}

function rowsOf(from: number, size: number): string {
  const ms = `(${firstUs / 1000n} + number * 1000)`;
  const hex = `lower(leftPad(hex(toUInt64(${ms})), 12, '0'))`;
  const id = `concat(substring(${hex}, 1, 8), '-', substring(${hex}, 9, 4), '-7000-8000-', lower(leftPad(hex(cityHash64(number)), 12, '0')))`;
  const started = `fromUnixTimestamp64Micro(toInt64(${ms}) * 1000, 'UTC')`;
  const isTurn = `number % ${traceCalls} = 0`;
  // Threads overlap in time, as those of many users do.
  const thread = `concat('thread-', toString(intDiv(number, ${traceCalls * threadTurns * 100}) * 100 + intDiv(number, ${traceCalls}) % 100))`;
  return `INSERT INTO calls (project_id, id, trace_id, parent_id, thread_id, turn_id, op_name, op_key, started_at, ended_at, latency_us, status,
    attributes, inputs, output, summary, size_bytes, version)
    SELECT if(intDiv(number, ${traceCalls}) % 5 = 0, 'acme/other', '${benchProject}'), ${id} AS call_id, concat('trace-', toString(intDiv(number, ${traceCalls}))),
      if(${isTurn}, '', 'parent'), ${thread}, if(${isTurn}, call_id, 'turn'), 'op', 'op', ${started}, ${started} + toIntervalMicrosecond(cityHash64(number) % 10000000),
      cityHash64(number) % 10000000, 'success', '{}', '{"question":"what is it?"}', '"an answer"', '{}', 50, ${from + 1}
    FROM numbers(${from}, ${size})`;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
