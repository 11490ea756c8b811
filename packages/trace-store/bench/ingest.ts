/**
 * Ingest beside the bare insert of the same rows, in one run: complete calls of 2 KB in batches of 100.
 *
 *   node --import tsx --conditions @heddle/source packages/trace-store/bench/ingest.ts [batches]
 *
 * The bare insert sends rows that were made before the clock started. Rounds alternate, so that both see the same
 * machine; every number is a median over batches.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import type { CallPart } from "@heddle/trace-model";
import type { Engine } from "../src/engine/engine.js";
import { connectEngine } from "../src/engine/engine.js";
import { preparePart } from "../src/ingest/commit/prepare.js";
import { callRowColumns, callRow } from "../src/stored-calls/rows.js";
import { openTraceStore } from "../src/store.js";
import { batchOfCalls, seededRandom } from "./payload.js";

const batchCount = Number(process.argv[2] ?? 200);
const batchSize = 100;
const databaseName = "bench_ingest";

const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
const url = process.env["HEDDLE_CLICKHOUSE_URL"];
const host = url === undefined ? await startEngineHost({ directory }) : undefined;
const client = host?.connection() ?? { url };
const insertMs: number[] = [];
const store = await openTraceStore({
  client,
  database: databaseName,
  controlPlaneId: "bench",
  wrapEngine: (engine) => ({ ...engine, insert: timedInsert(engine) }),
});
const bare = connectEngine(client, databaseName);
await bare.command({ sql: "CREATE TABLE IF NOT EXISTS bare AS calls" });

const random = seededRandom(7);
for (const writers of [1, 4]) await compare(writers);

await store.close();
await bare.command({ sql: `DROP DATABASE ${databaseName}` });
await bare.close();
await host?.close();
rmSync(directory, { recursive: true, force: true });

async function compare(writers: number): Promise<void> {
  const ours: number[] = [];
  const theirs: number[] = [];
  const preparing: number[] = [];
  const encoding: number[] = [];
  insertMs.length = 0;
  const round = 2 * writers;
  for (let done = 0; done < batchCount; done += round) {
    const batches = Array.from({ length: round }, () => batchOfCalls("acme/bench", batchSize, random));
    await spread(batches, writers, async (batch) => {
      ours.push(await timed(() => store.ingest(batch)));
    });
    // Making the rows is timed by stage and is not a part of the bare insert.
    const inserts = batches.map((batch) => {
      const start = performance.now();
      const prepared = batch.map((part, index) => preparePart(part, index));
      const middle = performance.now();
      const rows = prepared.map(rowOf);
      encoding.push(performance.now() - middle);
      preparing.push(middle - start);
      return rows;
    });
    await spread(inserts, writers, async (rows) => {
      theirs.push(await timed(() => bare.insert("bare", callRowColumns, rows)));
    });
  }
  report(writers, { ours, theirs, preparing, encoding });
}

function report(
  writers: number,
  { ours, theirs, preparing, encoding }: Record<"ours" | "theirs" | "preparing" | "encoding", number[]>,
): void {
  const perSecond = (ms: number[]) => Math.round((writers * batchSize * 1000) / median(ms));
  const bytes =
    batchOfCalls("acme/bench", batchSize, random).reduce((sum, part) => sum + jsonBytes(part), 0) / batchSize;
  console.log(`\n${writers} writer(s), batches of ${batchSize} calls with ${Math.round(bytes)} bytes of JSON each`);
  console.table({
    "bare insert": { "ms per batch": rounded(median(theirs)), "calls/s": perSecond(theirs), "% of bare": 100 },
    ingest: {
      "ms per batch": rounded(median(ours)),
      "calls/s": perSecond(ours),
      "% of bare": Math.round((100 * median(theirs)) / median(ours)),
    },
    "  prepare (scan, refs, usage, fields)": { "ms per batch": rounded(median(preparing)) },
    "  put rows together": { "ms per batch": rounded(median(encoding)) },
    "  insert (per commit)": { "ms per batch": rounded(median(insertMs)) },
  });
}

function rowOf(prepared: ReturnType<typeof preparePart>): Uint8Array {
  if (!("key" in prepared) || prepared.start === undefined || prepared.end === undefined)
    throw new Error("not complete");
  return callRow(prepared, { start: prepared.start, end: prepared.end, own: undefined }, 1n);
}

function timedInsert(engine: Engine): Engine["insert"] {
  return async (table, columns, rows) => {
    insertMs.push(await timed(() => engine.insert(table, columns, rows)));
  };
}

async function spread<T>(items: T[], workers: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const worker = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function jsonBytes(part: CallPart): number {
  return part.part === "complete" ? part.start.inputs.length + (part.end.output?.length ?? 0) : 0;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
