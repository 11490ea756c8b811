/**
 * How reads fare while the store works for itself: by id, a page and a count, while ids are indexed for a store of an earlier version,
 * hidden rows are compacted, expired calls are removed and many new calls are checked, beside quiet times right before and
 * after. Milliseconds as median / p99.
 *
 *   node --import tsx --conditions @heddle/source packages/trace-store/bench/background.ts [--calls 10000000] [--seconds 15] [--only indexed]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { newId } from "@heddle/trace-model";
import { connectEngine } from "../src/engine/engine.js";
import { openTraceStore } from "../src/store.js";
import { fillCalls, newCall } from "./many-calls.js";

const { values } = parseArgs({
  options: { calls: { type: "string" }, seconds: { type: "string" }, only: { type: "string" } },
});
const callCount = Number(values.calls ?? 1_000_000);
const quietSeconds = Number(values.seconds ?? 15);
const database = "bench_background";
const projectId = "bench/1";

const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
const host = await startEngineHost({ directory });
const engine = connectEngine(host.connection(), database);
let progress: string[] = [];
const newestFirst = [{ field: "started_at", direction: "desc" as const }];
const reads: Record<string, () => Promise<unknown>> = {
  "by id": async () => {
    const { id = "" } = known[Math.floor(Math.random() * known.length)] ?? {};
    return await store.calls.read({ project_id: projectId, id });
  },
  "newest 50": async () => {
    for await (const _ of store.calls.query({ project_id: projectId, limit: 50, sort_by: newestFirst })) continue;
  },
  count: () => store.calls.count({ project_id: projectId }),
};
const open = async () =>
  await openTraceStore({
    client: host.connection(),
    database,
    controlPlaneId: "bench",
    onProgress: (line) => progress.push(line),
  });

let store = await open();
await fillCalls(engine, 0, callCount);
const known = await engine.rows<{ id: string }>({
  sql: `SELECT id FROM calls WHERE project_id = '${projectId}' ORDER BY cityHash64(id) LIMIT 1000`,
});
const table: Record<string, Record<string, string>> = {};

// As a version left it that knew neither watermarks nor ids.
async function startAsOlder(): Promise<void> {
  await store.close();
  for (const name of ["watermarks", "call_ids"]) await engine.command({ sql: `TRUNCATE TABLE ${name}` });
  progress = [];
  const began = performance.now();
  store = await open();
  console.log(`start without a watermark: ${(performance.now() - began).toFixed(0)} ms`);
}
await compare("ids are indexed", async () => await store.maintain(), startAsOlder);
console.log(`${progress.length} slices`);

if (values.only === undefined) {
  for (let from = 0; from < 5000; from += 1000) {
    const rows = await engine.rows<{ id: string }>({
      sql: `SELECT id FROM calls WHERE project_id = 'bench/2' ORDER BY id LIMIT 1000 OFFSET ${from}`,
    });
    const ids = rows.map(({ id }) => id);
    await store.calls.delete("bench/2", ids, "user");
  }
  await compare("hidden rows are compacted", async () => await store.maintain(true));

  // The older half.
  const days = Math.floor((40_000_000 - callCount / 2) / 86_400);
  await store.retention.update("bench/3", days, "user");
  await compare("expired calls are removed", async () => await store.maintain(true));

  for (let from = 0; from < 100_000; from += 1000) {
    await store.ingest(Array.from({ length: 1000 }, () => newCall("bench/4", newId())));
  }
  await compare("new calls are checked", async () => await store.maintain());
}

console.log(`\n${callCount} calls; load ${loadavg()[0]?.toFixed(1)}`);
console.table(table);
await store.close();
await engine.close();
await host.close();
rmSync(directory, { recursive: true, force: true });

/** Reads before, during and after some work of the store. */
async function compare(name: string, work: () => Promise<void>, prepare?: () => Promise<void>): Promise<void> {
  const before = await readFor(delay(quietSeconds * 1000));
  await prepare?.();
  const since = performance.now();
  const meanwhile = await readFor(work());
  const seconds = (performance.now() - since) / 1000;
  const after = await readFor(delay(quietSeconds * 1000));
  const row: Record<string, string> = { s: seconds.toFixed(1) };
  for (const read of Object.keys(reads)) {
    const quiet = [...(before[read] ?? []), ...(after[read] ?? [])];
    const busy = meanwhile[read] ?? [];
    const of = (times: number[], share: number) => quantile(times, share).toFixed(0);
    row[read] = `${of(quiet, 0.5)} / ${of(quiet, 0.99)}, then ${of(busy, 0.5)} / ${of(busy, 0.99)} (${busy.length})`;
  }
  table[name] = row;
  console.log(name, row);
}

/** One read after another until it is done; milliseconds of each. */
async function readFor(work: Promise<unknown>): Promise<Record<string, number[]>> {
  const times: Record<string, number[]> = {};
  const state = { done: false };
  const ended = work.finally(() => (state.done = true));
  do {
    for (const [name, read] of Object.entries(reads)) {
      const start = performance.now();
      await read();
      (times[name] ??= []).push(performance.now() - start);
      await delay(5);
    }
  } while (!state.done);
  await ended;
  return times;
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
