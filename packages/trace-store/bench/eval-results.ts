/**
 * Results of evaluations through the store, and what one would write against the plain table, without running, hidden and
 * expired calls, scores that came late and payloads. Two runs over the same rows, three scorers.
 *
 *   node --import tsx --conditions @heddle/source packages/trace-store/bench/eval-results.ts [--rows 10000]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import { newId } from "@heddle/trace-model";
import type { CallPart } from "@heddle/trace-model";
import { connectEngine } from "../src/engine/engine.js";
import type { EvaluationResultsQuery } from "../src/evaluations/results-plan.js";
import { openTraceStore } from "../src/store.js";

const rowCount = process.argv[2] === "--rows" ? Number(process.argv[3]) : 10_000;
const rounds = 15;
const databaseName = "bench_eval_results";
const projectId = "acme/bench";
const scorers = ["exact", "points", "judge"];
/** Conditions are evaluated anew in every round. */
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
    rows: (source, options) => inner.rows(source, { ...options, settings: { ...options?.settings, ...fresh } }),
    stream: (source, options) => inner.stream(source, { ...options, settings: { ...options?.settings, ...fresh } }),
  }),
});
const engine = connectEngine(client, databaseName);

const runs = [await fill("one"), await fill("other")];
const table: Record<string, Record<string, number | string>> = {};
const parents = `parent_id IN (${runs.map((id) => `'${id}'`).join(",")})`;
const trials = `FROM calls WHERE project_id = '${projectId}' AND ${parents} AND example_digest != ''`;
const grouped = (key: string) =>
  `SELECT example_digest, groupArray((parent_id, id)), ${key} AS k ${trials} GROUP BY example_digest`;
const page = (request: Partial<EvaluationResultsQuery>) => () =>
  store.evaluations.results({ project_id: projectId, evaluation_run_ids: runs, limit: 50, ...request });
const points = { field: "scores.points", direction: "desc" } as const;

await measure("first page", page({ include_raw_data_rows: true }), `${grouped("1")} ORDER BY example_digest LIMIT 50`);
await measure(
  "page at offset 9000",
  page({ offset: rowCount - 1000 }),
  `${grouped("1")} ORDER BY example_digest LIMIT 50 OFFSET ${rowCount - 1000}`,
);
await measure(
  "sorted by a score",
  page({ sort_by: [points] }),
  `${grouped("avg(JSONExtractFloat(output, 'scores', 'points'))")} ORDER BY k DESC LIMIT 50`,
);
await measure(
  "sorted by difference",
  page({ sort_by: [{ ...points, mode: "difference" }] }),
  `${grouped("max(JSONExtractFloat(output, 'scores', 'points')) - min(JSONExtractFloat(output, 'scores', 'points'))")} ORDER BY k DESC LIMIT 50`,
);
await measure(
  "filtered by a score",
  page({ filters: [{ query: { $expr: { $eq: [{ $getField: "scores.exact" }, { $literal: false }] } } }] }),
  `${grouped("max(NOT JSONExtractBool(output, 'scores', 'exact'))")} HAVING k = 1 ORDER BY example_digest LIMIT 50`,
);
await measure(
  "summary",
  () => store.evaluations.summarize({ project_id: projectId, evaluation_run_ids: runs }),
  `SELECT parent_id, avg(JSONExtractFloat(output, 'scores', 'points')), avg(JSONExtractBool(output, 'scores', 'exact')), count() ${trials} GROUP BY parent_id`,
);
console.log(`\n${rowCount} rows, ${scorers.length} scorers, 2 runs, ${rowCount * 10} calls; ms`);
console.table(table);

await store.close();
await engine.command({ sql: `DROP DATABASE ${databaseName}` });
await engine.close();
await host?.close();
rmSync(directory, { recursive: true, force: true });

/** Round by round, so that both see the same machine. */
async function measure(name: string, ours: () => Promise<unknown>, plain: string): Promise<void> {
  const times = { store: [] as number[], plain: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    times.store.push(await timed(ours));
    times.plain.push(await timed(() => engine.rows({ sql: plain }, { settings: fresh })));
  }
  table[name] = {
    "store p50": percentile(times.store, 0.5),
    "store p99": percentile(times.store, 0.99),
    "bare SQL p50": percentile(times.plain, 0.5),
    "bare SQL p99": percentile(times.plain, 0.99),
    "under 1 s": percentile(times.store, 0.99) < 1000 ? "yes" : "no",
  };
}

/** A finished run as a client library writes it; returns its id. */
async function fill(model: string): Promise<string> {
  const op = (name: string) => `weave:///${projectId}/op/${name}:abc`;
  const object = (name: string) => `weave:///${projectId}/object/${name}:abc`;
  const run = newId();
  const now = () => BigInt(Date.now()) * 1000n;
  const part = (id: string, parent: string, name: string, inputs: object, output: unknown): CallPart => {
    const at = now();
    const texts = { attributes: "{}", inputs: JSON.stringify(inputs) };
    const start = { project_id: projectId, id, trace_id: run, parent_id: parent, op_name: op(name), started_at: at };
    const end = { project_id: projectId, id, ended_at: at + 1000n, output: JSON.stringify(output), summary: "{}" };
    return { part: "complete", start: { ...start, ...texts }, end };
  };
  const self = { self: object("exam"), model: object(model) };
  let batch: CallPart[] = [part(run, "", "Evaluation.evaluate", self, {})];
  for (let n = 0; n < rowCount; n++) {
    const trial = newId();
    const example = { question: `question number ${n}`, context: "some text that goes with it. ".repeat(10) };
    const answer = `the answer to ${n}. `.repeat(20);
    const scores: Record<string, unknown> = {
      exact: n % 7 !== 0,
      points: ((n * (model === "one" ? 31 : 37)) % 1000) / 1000,
      judge: { passed: n % 3 === 0, reason: `because of ${n}` },
    };
    batch.push(part(newId(), trial, `${model}.predict`, { self: object(model), example }, answer));
    for (const scorer of scorers) {
      batch.push(part(newId(), trial, `${scorer}.score`, { self: object(scorer), output: answer }, scores[scorer]));
    }
    batch.push(
      part(
        trial,
        run,
        "Evaluation.predict_and_score",
        { ...self, example },
        { output: answer, scores, model_latency: 0.5 },
      ),
    );
    if (batch.length > 5000) {
      await store.ingest(batch);
      batch = [];
    }
  }
  await store.ingest(batch);
  return run;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN);
}
