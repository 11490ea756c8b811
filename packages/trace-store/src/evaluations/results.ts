import { jsonType, memberOf, objectEntries } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import type { PriceBook } from "../costs/price-book.js";
import { Parameters } from "../engine/parameters.js";
import { at } from "../query/call-query.js";
import type { LocatedCalls } from "../query/call-query.js";
import { pageClause } from "../query/page.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import { readRows } from "../tables/rows.js";
import { usageRows, usageSql } from "../usage/stored-usage.js";
import type { StoredUsage } from "../usage/stored-usage.js";
import type { EvaluationResultsQuery, ResultsPlan } from "./results-plan.js";
import type { ResultsSource } from "./results-source.js";
import { selectRows } from "./results-sql.js";
import { selectTrialCalls } from "./trial-sql.js";
import { costOfUsage, tokensOf, usageBelow, withTokensBelow } from "./usage-below.js";
import type { UsageBelow } from "./usage-below.js";

/** What runs did with one row of data. */
export interface ResultsRow {
  row_digest: string;
  /** Undefined unless it was asked for. */
  raw_data_row: JsonText | undefined;
  /** In the order of the request. */
  evaluations: Array<{ evaluation_run_id: string; trials: ResultsTrial[] }>;
}

export interface ResultsTrial {
  trial_id: string;
  prediction_id: string | null;
  model_output: JsonText;
  /** By the name of the scorer. */
  scores: Map<string, JsonText>;
  score_ids: Map<string, string>;
  model_latency_seconds: number | null;
  total_tokens: number | null;
  total_cost: number | null;
  /** A list, or null. */
  genai_span_ref: JsonText;
}

export interface ResultsPage {
  rows: ResultsRow[];
  total_rows: number;
  /** Digests of rows that were to be resolved and are not stored. */
  missing_rows: string[];
}

/** Trials whose payloads are read at a time. */
const readTrials = 500;
/** Rows of a page: the keys first, then the payloads of just their trials. */
export async function readResults(
  source: ResultsSource,
  plan: ResultsPlan,
  request: EvaluationResultsQuery,
): Promise<ResultsPage> {
  const { keys, total } = await readKeys(source, await withTokensBelow(source, plan), request);
  const order = new Map(plan.runs.map((id, index) => [id, index]));
  const rows: ResultsRow[] = [];
  /** The first trial of a row has what the row shows. */
  const trials: Array<{ id: string; us: string; into: ResultsTrial[]; row: ResultsRow | undefined }> = [];
  for (const { row_digest, evaluations } of keys) {
    const sorted = evaluations.toSorted(([a], [b]) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
    const row: ResultsRow = { row_digest, raw_data_row: undefined, evaluations: [] };
    let shownIn: ResultsRow | undefined = row;
    for (const [run, ofRun] of sorted) {
      const into: ResultsTrial[] = [];
      for (const [us, id] of ofRun.toSorted(byTime)) {
        trials.push({ id, us, into, row: shownIn });
        shownIn = undefined;
      }
      row.evaluations.push({ evaluation_run_id: run, trials: into });
    }
    rows.push(row);
  }
  const book = request.include_costs === true ? await source.costs.book(plan.project_id, source.signal) : undefined;
  const children = request.include_predict_and_score_children !== false;
  for (let from = 0; from < trials.length; from += readTrials) {
    const some = trials.slice(from, from + readTrials);
    const located = { ids: some.map(({ id }) => id), started_at: [...new Set(some.map(({ us }) => BigInt(us)))] };
    const [payloads, calls] = await Promise.all([
      readPayloads(source, located, request.include_raw_data_rows === true),
      children || book !== undefined ? readTrialCalls(source, located) : new Map<string, TrialCall[]>(),
    ]);
    const [outputs, below] = await Promise.all([
      readOutputs(source, [...calls.values()].flat()),
      readUsageBelow(source, [...calls.values()]),
    ]);
    for (const { id, into, row } of some) {
      const payload = payloads.get(id);
      if (payload === undefined) continue;
      into.push(trialOf(payload, calls.get(id) ?? [], { book, children, outputs, below }));
      if (row !== undefined && payload.inputs !== "") row.raw_data_row = memberOf(payload.inputs, "example") ?? "null";
    }
  }
  const missing = request.resolve_row_refs === true ? await resolveRows(source, rows) : [];
  return { rows, total_rows: total, missing_rows: missing };
}

interface RowKey {
  row_digest: string;
  /** Run, and its trials as time and id. */
  evaluations: Array<[string, Array<[string, string]>]>;
  total: string;
}

async function readKeys({ engine, scope, signal }: ResultsSource, plan: ResultsPlan, page: EvaluationResultsQuery) {
  if (plan.runs.length === 0) return { keys: [], total: 0 };
  const statement = (clause: (p: Parameters) => string, columns: string) => () => {
    const p = new Parameters();
    const { sql, orderBy } = selectRows(scope(), p, plan);
    return {
      sql: `SELECT ${columns} FROM (${sql}) ${columns === count ? "" : `ORDER BY ${orderBy}`}${clause(p)}`,
      params: p,
    };
  };
  const options = { signal };
  const rows = statement((p) => pageClause(p, page), "row_digest, evaluations, count() OVER () AS total");
  const keys = await engine.rows<RowKey>(rows, options);
  if (keys.length > 0 || ((page.offset ?? 0) === 0 && page.limit !== 0))
    return { keys, total: Number(keys[0]?.total ?? 0) };
  // A page without rows does not say how many there are.
  const [counted] = await engine.rows<{ total: string }>(
    statement(() => "", count),
    options,
  );
  return { keys, total: Number(counted?.total ?? 0) };
}

const count = "count() AS total";

function byTime([a, one]: [string, string], [b, other]: [string, string]): number {
  return Number(BigInt(a) - BigInt(b)) || (one < other ? -1 : 1);
}

interface Payload {
  trial_id: string;
  output: JsonText;
  /** '' unless it was asked for. */
  inputs: JsonText;
}

const exactly = (column: string) => `if(exact['${column}'] != '', exact['${column}'], ${column})`;

async function readPayloads(
  { engine, scope, signal }: ResultsSource,
  located: LocatedCalls,
  withInputs: boolean,
): Promise<Map<string, Payload>> {
  const statement = () => {
    const p = new Parameters();
    const union = visibleCalls(scope(), p, {
      select: [
        "id AS trial_id",
        "version",
        `${exactly("output")} AS trial_output`,
        `${withInputs ? exactly("inputs") : "''"} AS trial_inputs`,
      ],
      where: at(p, located),
    });
    const columns = "trial_id, trial_output AS output, trial_inputs AS inputs";
    return { sql: `SELECT ${columns} FROM (${union}) ORDER BY version DESC LIMIT 1 BY trial_id`, params: p };
  };
  const rows = await engine.rows<Payload>(statement, { signal });
  return new Map(rows.map((row) => [row.trial_id, row]));
}

interface TrialCall extends StoredUsage {
  call_id: string;
  trial_id: string;
  us: string;
  scorer: string;
  is_score: boolean;
  is_added: boolean;
  model_rank: number;
  is_running: boolean;
  call_latency: string | null;
  spans: JsonText;
  call_trace: string;
}

/** The calls below trials, in the order in which they began. */
async function readTrialCalls(
  { engine, scope, signal }: ResultsSource,
  located: LocatedCalls,
): Promise<Map<string, TrialCall[]>> {
  const statement = () => {
    const p = new Parameters();
    const calls = selectTrialCalls(scope(), p, {
      rare: [p.inTimes("started_at", located.started_at)],
      ids: located.ids,
      columns: [
        "latency_us AS call_latency",
        "JSONExtractRaw(attributes, 'weave', 'genai_span_ref') AS spans",
        ...usageSql,
        "trace_id AS call_trace",
      ],
      select: [
        "call_id",
        "trial_id",
        "call_us AS us",
        "score_name AS scorer",
        "is_score",
        "is_added",
        "is_running",
        "model_rank",
        "call_latency",
        "spans",
        "models",
        "counts",
        "call_trace",
      ],
    });
    return { sql: `${calls} ORDER BY toInt64(us), call_id`, params: p };
  };
  const found = new Map<string, TrialCall[]>();
  for await (const row of engine.stream<TrialCall>(statement, { signal })) {
    const siblings = found.get(row.trial_id);
    if (siblings === undefined) found.set(row.trial_id, [row]);
    else siblings.push(row);
  }
  return found;
}

/** Outputs that trials do not have themselves: those of added scores, and of predictions of running trials. */
async function readOutputs(source: ResultsSource, calls: readonly TrialCall[]): Promise<Map<string, Payload>> {
  const wanted = calls.filter(({ is_added, is_running, is_score }) => is_added || (is_running && !is_score));
  if (wanted.length === 0) return new Map();
  const located = { ids: wanted.map(({ call_id }) => call_id), started_at: wanted.map(({ us }) => BigInt(us)) };
  return await readPayloads(source, located, false);
}

/** The call below a trial that is its prediction. */
function predictionOf(calls: readonly TrialCall[]): TrialCall | undefined {
  const others = calls.filter(({ is_score }) => !is_score);
  const least = Math.min(...others.map(({ model_rank }) => model_rank));
  return others.find(({ model_rank }) => model_rank === least);
}

/** What calls below the predictions of trials used. */
async function readUsageBelow(source: ResultsSource, trials: ReadonlyArray<readonly TrialCall[]>): Promise<UsageBelow> {
  const predictions = trials.flatMap((calls) => predictionOf(calls) ?? []);
  return await usageBelow(
    source,
    predictions.map(({ call_id, call_trace }) => ({ id: call_id, trace: call_trace })),
  );
}

interface TrialContext {
  book: PriceBook | undefined;
  children: boolean;
  outputs: ReadonlyMap<string, Payload>;
  below: UsageBelow;
}

function trialOf(
  { trial_id, output }: Payload,
  calls: readonly TrialCall[],
  { book, children, outputs, below }: TrialContext,
): ResultsTrial {
  const prediction = predictionOf(calls);
  const scores = new Map(objectEntries(memberOf(output, "scores") ?? "{}").map(({ key, value }) => [key, value]));
  const scoreIds = new Map<string, string>();
  const outputOf = (id: string | undefined) => (id === undefined ? undefined : outputs.get(id)?.output) ?? "null";
  for (const { call_id, scorer, is_score, is_added } of children ? calls : []) {
    if (!is_score) continue;
    scoreIds.set(scorer, call_id);
    if (is_added) scores.set(scorer, outputOf(call_id));
  }
  const used =
    prediction === undefined
      ? []
      : [{ us: BigInt(prediction.us), usage: usageRows(prediction) }, ...(below.get(prediction.call_id) ?? [])];
  const latency = prediction?.call_latency ?? null;
  return {
    trial_id,
    prediction_id: children ? (prediction?.call_id ?? null) : null,
    model_output: memberOf(output, "output") ?? memberOf(output, "model_output") ?? outputOf(prediction?.call_id),
    scores,
    score_ids: scoreIds,
    model_latency_seconds: latency === null ? ownLatency(output) : Number(latency) / 1e6,
    total_tokens: tokensOf(used),
    total_cost: book === undefined ? null : costOfUsage(book, used),
    genai_span_ref: prediction?.spans || "null",
  };
}

/** Seconds that the client measured: a number, or an object with a mean. */
function ownLatency(output: JsonText): number | null {
  const latency = memberOf(output, "model_latency") ?? "null";
  const seconds = jsonType(latency) === "object" ? (memberOf(latency, "mean") ?? "null") : latency;
  const value = jsonType(seconds) === "number" ? Number(seconds) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}

/** Replaces refs by the rows that they lead to, found by digest; returns the digests of those that are not stored. */
async function resolveRows({ engine, scope, signal }: ResultsSource, rows: readonly ResultsRow[]): Promise<string[]> {
  const refs = rows.filter(({ raw_data_row: row }) => row?.startsWith('"weave:///') === true);
  const missing: string[] = [];
  for (let from = 0; from < refs.length; from += readTrials) {
    const some = refs.slice(from, from + readTrials);
    const { project_id } = scope();
    const digests = some.map(({ row_digest }) => row_digest);
    const found = new Map<string, JsonText>();
    for await (const { digest, val } of readRows(engine, [project_id], digests, signal)) found.set(digest, val);
    for (const row of some) {
      const value = found.get(row.row_digest);
      if (value === undefined) missing.push(row.row_digest);
      else row.raw_data_row = value;
    }
  }
  return missing;
}
