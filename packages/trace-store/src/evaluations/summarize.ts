import { addCosts, totalCost } from "../costs/cost-of.js";
import type { PriceBook } from "../costs/price-book.js";
import { Parameters } from "../engine/parameters.js";
import { UsageCosts, tokenSums } from "../stats/usage-costs.js";
import type { TokenSums } from "../stats/usage-costs.js";
import type { ResultsPlan } from "./results-plan.js";
import type { ResultsSource } from "./results-source.js";
import { selectRows, selectTrialFields } from "./results-sql.js";
import { ScoreSums } from "./score-stats.js";
import type { ScoreStats } from "./score-stats.js";
import { selectPredictions } from "./trial-sql.js";
import { costOfUsage, tokensOf, usageBelowRuns, withTokensBelow } from "./usage-below.js";

/** Sums and means of one run. */
export interface RunSummary {
  evaluation_run_id: string;
  trial_count: number;
  scorer_stats: ScoreStats[];
  /** Whether the scores have more different values than are summed up. */
  is_cut: boolean;
  predict_total_tokens: number | null;
  predict_total_cost: number | null;
}

/** The number of rows that a plan selects, and sums of their trials for each of its runs. */
export async function summarizeResults(
  source: ResultsSource,
  request: ResultsPlan,
  withCosts: boolean,
): Promise<{ row_count: number; runs: RunSummary[] }> {
  if (request.runs.length === 0) return { row_count: 0, runs: [] };
  const plan = await withTokensBelow(source, request);
  const book = withCosts ? await source.costs.book(plan.project_id, source.signal) : undefined;
  const [rowCount, scores, tokens, costs, below] = await Promise.all([
    countRows(source, plan),
    sumScores(source, plan),
    sumTokens(source, plan),
    book === undefined ? undefined : sumCosts(source, plan, book),
    sumBelow(source, plan, book),
  ]);
  const sumOf = (run: string, own: ReadonlyMap<string, number> | undefined, more: ReadonlyMap<string, number>) =>
    own?.has(run) === true || more.has(run) ? (own?.get(run) ?? 0) + (more.get(run) ?? 0) : null;
  const runs = plan.runs.map((id): RunSummary => {
    const { trials = 0, sums = new ScoreSums() } = scores.get(id) ?? {};
    return {
      evaluation_run_id: id,
      trial_count: trials,
      scorer_stats: sums.stats(),
      is_cut: sums.isCut,
      predict_total_tokens: sumOf(id, tokens, below.tokens),
      predict_total_cost: sumOf(id, costs, below.costs),
    };
  });
  return { row_count: rowCount, runs };
}

async function countRows({ engine, scope, signal }: ResultsSource, plan: ResultsPlan): Promise<number> {
  const statement = () => {
    const p = new Parameters();
    return { sql: `SELECT count() AS total FROM (${selectRows(scope(), p, plan).sql})`, params: p };
  };
  const [row] = await engine.rows<{ total: string }>(statement, { signal });
  return Number(row?.total ?? 0);
}

/** The condition that a trial is of a row of the plan; empty for all trials. */
function ofRows(source: ResultsSource, p: Parameters, plan: ResultsPlan): string {
  if (!plan.intersection && plan.filters.length === 0) return "";
  const { sql } = selectRows(source.scope(), p, { ...plan, sort: [] });
  return ` WHERE row_digest IN (SELECT row_digest FROM (${sql}))`;
}

/** Trials with equal scores arrive as one. */
async function sumScores(source: ResultsSource, plan: ResultsPlan) {
  const { engine, scope, signal } = source;
  const statement = () => {
    const p = new Parameters();
    const trials = selectTrialFields(scope(), p, { runs: plan.runs, columns: new Set(["scores"]) });
    const sql = `SELECT run_id, scores, count() AS trials FROM (${trials})${ofRows(source, p, plan)} GROUP BY run_id, scores`;
    return { sql, params: p };
  };
  const found = new Map<string, { trials: number; sums: ScoreSums }>();
  type Row = { run_id: string; scores: string; trials: string };
  for await (const { run_id, scores, trials } of engine.stream<Row>(statement, { signal })) {
    const run = found.get(run_id) ?? { trials: 0, sums: new ScoreSums() };
    run.trials += Number(trials);
    run.sums.add(scores, Number(trials));
    found.set(run_id, run);
  }
  return found;
}

/** Tokens that the predictions of each run used themselves; runs without any are missing. */
async function sumTokens(source: ResultsSource, plan: ResultsPlan): Promise<Map<string, number>> {
  const { engine, scope, signal } = source;
  const statement = () => {
    const p = new Parameters();
    const predictions = selectPredictions(scope(), p, {
      rare: [p.in("parent_id", "String", plan.runs)],
      columns: ["notEmpty(`usage.model`) AS has_tokens", "arraySum(`usage.total_tokens`) AS tokens"],
      select: ["trial_id", "run_id", "row_digest", "has_tokens", "tokens"],
    });
    const those = `SELECT * FROM (${predictions}) WHERE has_tokens`;
    const sql = `SELECT run_id, sum(tokens) AS total FROM (${those})${ofRows(source, p, plan)} GROUP BY run_id`;
    return { sql, params: p };
  };
  const rows = await engine.rows<{ run_id: string; total: string }>(statement, { signal });
  return new Map(rows.map(({ run_id, total }) => [run_id, Number(total)]));
}

/** The mean of the outputs of a run that are numbers; null if none is. */
export async function meanOutput({ engine, scope, signal }: ResultsSource, runId: string): Promise<number | null> {
  const statement = () => {
    const p = new Parameters();
    const predictions = selectPredictions(scope(), p, {
      rare: [`parent_id = ${p.bind("String", runId)}`],
      columns: [
        "if(JSONType(output) IN ('Int64', 'UInt64', 'Double'), toFloat64OrNull(output), NULL) AS output_number",
      ],
      select: ["output_number"],
    });
    return { sql: `SELECT avg(output_number) AS mean FROM (${predictions})`, params: p };
  };
  const [row] = await engine.rows<{ mean: number | null }>(statement, { signal });
  return row?.mean ?? null;
}

/** Before every call that can be stored. */
const firstUs = -2_208_988_800_000_000n;

/** What the calls below the predictions of each run used; costs only with a book. */
async function sumBelow(source: ResultsSource, plan: ResultsPlan, book: PriceBook | undefined) {
  const [tokens, costs] = [new Map<string, number>(), new Map<string, number>()];
  const add = (sums: Map<string, number>, run: string, more: number | null) => {
    if (more !== null) sums.set(run, (sums.get(run) ?? 0) + more);
  };
  for await (const predictions of usageBelowRuns(source, plan, (p) => ofRows(source, p, plan))) {
    for (const { run_id, used } of predictions) {
      add(tokens, run_id, tokensOf(used));
      if (book !== undefined) add(costs, run_id, costOfUsage(book, used));
    }
  }
  return { tokens, costs };
}

/** What the tokens that the predictions of each run used themselves cost; runs without a price are missing. */
async function sumCosts(source: ResultsSource, plan: ResultsPlan, book: PriceBook): Promise<Map<string, number>> {
  const { engine, scope, signal } = source;
  const costs = new UsageCosts(book, { start: firstUs, end: scope().now });
  const counts = ["prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_creation_tokens"] as const;
  const statement = () => {
    const p = new Parameters();
    const usage = ["models", ...counts.map((name) => `all_${name}`)];
    const predictions = selectPredictions(scope(), p, {
      rare: [p.in("parent_id", "String", plan.runs)],
      columns: ["`usage.model` AS models", ...counts.map((name) => `\`usage.${name}\` AS all_${name}`)],
      select: ["trial_id", "run_id", "row_digest", "call_us", ...usage],
    });
    const sql = `SELECT run_id AS bucket, model_used AS model, ${costs.periodOf(p, "toInt64(call_us)")} AS period, ${tokenSums.join(", ")}
      FROM (SELECT run_id, call_us, ${usage.join(", ")} FROM (${predictions})${ofRows(source, p, plan)})
      ARRAY JOIN models AS model_used, ${counts.map((name) => `all_${name} AS ${name}`).join(", ")} GROUP BY bucket, model, period`;
    return { sql, params: p };
  };
  const models = new Map<string, Set<string>>();
  for (const row of await engine.rows<TokenSums>(statement, { signal })) {
    costs.add(row);
    models.set(row.bucket, (models.get(row.bucket) ?? new Set()).add(row.model ?? ""));
  }
  const totals = new Map<string, number>();
  for (const [run, used] of models) {
    const priced = Array.from(used, (model) => costs.of(run, model)).filter((cost) => cost !== undefined);
    if (priced.length > 0) totals.set(run, totalCost(priced.reduce(addCosts)));
  }
  return totals;
}
