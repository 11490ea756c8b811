/**
 * Usage and costs of a month by day and by model, and pages with costs: through the store, and beside what one would write
 * against the plain tables with a join of prices. Medians of one run, caches of filters off.
 *
 *   node --import tsx --conditions @heddle/source packages/trace-store/bench/costs.ts [--calls 1000000]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEngineHost } from "@heddle/embedded-clickhouse";
import type { CallsQuery } from "../src/calls/calls.js";
import type { Price } from "../src/costs/price.js";
import { connectEngine } from "../src/engine/engine.js";
import type { Engine, StatementOptions } from "../src/engine/engine.js";
import { openTraceStore } from "../src/store.js";
import type { CallStatsRequest } from "../src/stats/stats.js";

const callCount = process.argv[2] === "--calls" ? Number(process.argv[3]) : 100_000;
const rounds = 15;
const databaseName = "bench_costs";
const benchProject = "acme/bench";
const fresh = { use_query_condition_cache: 0 } as const;
const dayUs = 86_400_000_000n;
const startUs = 1_775_001_600_000_000n;
const endUs = startUs + 30n * dayUs;
/** Models with a price; the calls use the first eight of them. */
const modelCount = 500;

function price(model: number, effective: bigint, cost: number): Price {
  return {
    llm_id: `model-${model}`,
    provider_id: "default",
    effective_date: effective,
    prompt_token_cost: cost,
    completion_token_cost: 4 * cost,
    cache_read_input_token_cost: cost / 10,
    cache_creation_input_token_cost: cost * 1.25,
    prompt_token_cost_unit: "USD",
    completion_token_cost_unit: "USD",
    created_at: effective,
    created_by: null,
  };
}

const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
const url = process.env["HEDDLE_CLICKHOUSE_URL"];
const host = url === undefined ? await startEngineHost({ directory }) : undefined;
const client = host?.connection() ?? { url };
const prices = Array.from({ length: modelCount }, (_, model) => price(model, 0n, (model + 1) * 1e-7));
const store = await openTraceStore({
  client,
  database: databaseName,
  controlPlaneId: "bench",
  prices,
  wrapEngine: withFreshReads,
});
const engine = connectEngine(client, databaseName);
for (let from = 0; from < callCount; from += 10_000) await fill(from, Math.min(10_000, callCount - from));
await engine.command({
  sql: `CREATE TABLE prices (llm_id String, since Int64, prompt Float64, completion Float64, cached Float64, created Float64) ENGINE=MergeTree ORDER BY llm_id AS
    SELECT concat('model-', toString(number)), -9000000000000000000, (number + 1) * 1e-7 AS prompt, prompt * 4, prompt / 10, prompt * 1.25 FROM numbers(${modelCount})`,
});

const table: Record<string, Record<string, number | string>> = {};
const range = `project_id = '${benchProject}' AND started_at >= fromUnixTimestamp64Micro(${startUs}, 'UTC') AND started_at < fromUnixTimestamp64Micro(${endUs}, 'UTC')`;
const joined =
  "ARRAY JOIN `usage.model` AS model, `usage.prompt_tokens` AS prompt_tokens, `usage.completion_tokens` AS completion_tokens, `usage.cache_read_tokens` AS cached_tokens, `usage.cache_creation_tokens` AS created_tokens";
const cost =
  "sum((prompt_tokens - cached_tokens - created_tokens) * prompt + cached_tokens * cached + created_tokens * created + completion_tokens * completion)";
const bare = (bucket: string, join = "ANY LEFT JOIN prices ON llm_id = model") =>
  `SELECT ${bucket} AS bucket, model, count(), sum(prompt_tokens), sum(completion_tokens), ${cost}
   FROM (SELECT *, toUnixTimestamp64Micro(started_at) AS us, model, prompt_tokens, completion_tokens, cached_tokens, created_tokens FROM calls ${joined} WHERE ${range}) AS used ${join} GROUP BY bucket, model`;
const tokensOnly = (bucket: string) =>
  `SELECT ${bucket} AS bucket, model, count(), sum(prompt_tokens), sum(completion_tokens) FROM calls ${joined} WHERE ${range} GROUP BY bucket, model`;
const stats =
  (request: Partial<CallStatsRequest>): (() => Promise<unknown>) =>
  () =>
    store.calls.callStats({ project_id: benchProject, start: startUs, end: endUs, granularity: 86_400, ...request });
const day = "toStartOfDay(started_at)";
const tokens = [{ metric: "input_tokens" as const }, { metric: "output_tokens" as const }];
const month = { granularity: 30 * 86_400 };

await measure("tokens by day and model", stats({ usage_metrics: tokens }), [tokensOnly(day)]);
await measure("tokens by model", stats({ usage_metrics: tokens, ...month }), [tokensOnly("1")]);
await measure("costs by day and model", stats({ usage_metrics: [{ metric: "total_cost" }] }), [bare(day)]);
await measure("costs by model", stats({ usage_metrics: [{ metric: "total_cost" }], ...month }), [bare("1")]);
const newest: CallsQuery["sort_by"] = [{ field: "started_at", direction: "desc" }];
const page = (withCosts: boolean) => async () => {
  const request = { project_id: benchProject, sort_by: newest, limit: 100, include_costs: withCosts };
  for await (const _ of store.calls.query(request)) continue;
};
const plainPage = `SELECT * FROM calls WHERE project_id = '${benchProject}' ORDER BY started_at DESC, id DESC LIMIT 100`;
await measure("newest 100", page(false), [plainPage]);
await measure("newest 100 with costs", page(true), [
  plainPage,
  `SELECT * FROM costs FINAL WHERE project_id = '${benchProject}'`,
]);
const traceIds = Array.from({ length: 100 }, (_, index) => `trace-${index * 7}`);
await measure(
  "costs of 100 traces",
  () => store.calls.traceUsage({ project_id: benchProject, include_costs: true, filter: { trace_ids: traceIds } }),
  [
    `SELECT id, parent_id, \`usage.model\`, \`usage.prompt_tokens\`, \`usage.completion_tokens\` FROM calls WHERE project_id = '${benchProject}' AND trace_id IN (${traceIds.map((id) => `'${id}'`).join(",")})`,
    "SELECT * FROM prices",
  ],
);

// A price of the project that changes in the middle of the month.
for (const model of [0, 1]) {
  const { llm_id, created_at: _, created_by: __, ...input } = price(model, startUs + 15n * dayUs, 1e-6);
  await store.costs.create({ project_id: benchProject, costs: { [llm_id]: input } });
  await engine.command({
    sql: `INSERT INTO prices VALUES ('${llm_id}', ${startUs + 15n * dayUs}, 1e-6, 4e-6, 1e-7, 1.25e-6)`,
  });
}
const asof = "ASOF LEFT JOIN prices ON llm_id = model AND us >= since";
await measure("costs by day, price changes", stats({ usage_metrics: [{ metric: "total_cost" }] }), [bare(day, asof)]);

console.log(`\n${callCount} calls of about 2 KB in a month, ${modelCount} prices; ms`);
console.table(table);
await store.close();
await engine.command({ sql: `DROP DATABASE ${databaseName}` });
await engine.close();
await host?.close();
rmSync(directory, { recursive: true, force: true });

async function measure(name: string, ours: () => Promise<unknown>, plain: readonly string[]): Promise<void> {
  const times = { ours: [] as number[], plain: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    times.ours.push(await timed(ours));
    times.plain.push(
      await timed(async () => {
        for (const sql of plain) await engine.rows({ sql }, { settings: fresh });
      }),
    );
  }
  const [a, b] = [median(times.ours), median(times.plain)];
  table[name] = { store: a, "plain tables": b, ratio: Math.round((a / b) * 100) / 100 };
}

function withFreshReads(inner: Engine): Engine {
  const options = (given?: StatementOptions) => ({ ...given, settings: { ...given?.settings, ...fresh } });
  return {
    ...inner,
    rows: (source, given) => inner.rows(source, options(given)),
    stream: (source, given) => inner.stream(source, options(given)),
  };
}

async function fill(from: number, size: number): Promise<void> {
  const step = (30n * dayUs) / BigInt(callCount);
  const started = `fromUnixTimestamp64Micro(toInt64(${startUs}) + toInt64(number) * ${step}, 'UTC')`;
  const id = "concat('0199d3a4-0000-7000-8000-', lower(leftPad(hex(number), 12, '0')))";
  const text = "repeat(concat('word ', toString(cityHash64(number) % 100), ' '), 100)";
  const model = "concat('model-', toString(cityHash64(number) % 8))";
  await engine.command({
    sql: `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, op_key, started_at, ended_at, latency_us, status, attributes, inputs, output, summary, size_bytes,
      \`usage.model\`, \`usage.requests\`, \`usage.prompt_tokens\`, \`usage.completion_tokens\`, \`usage.total_tokens\`, \`usage.cache_read_tokens\`, \`usage.cache_creation_tokens\`, version)
      SELECT '${benchProject}', ${id}, concat('trace-', toString(intDiv(number, 6))), '', 'op', 'op', ${started}, ${started}, 1000, 'success', '{}', concat('{"text":"', ${text}, '"}'), concat('{"text":"', ${text}, '"}'),
        concat('{"usage":{"', ${model}, '":{"prompt_tokens":1000,"completion_tokens":100}}}'), 2000,
        [${model}], [1], [1000 + number % 1000], [100], [1100 + number % 1000], [number % 500], [number % 7], ${from + 1}
      FROM numbers(${from}, ${size})`,
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return Math.round((values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN) * 10) / 10;
}
