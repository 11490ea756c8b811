import type { UsageRow } from "@heddle/trace-model";
import { HeddleError } from "@heddle/errors";
import { costOf, totalCost } from "../costs/cost-of.js";
import type { PriceBook } from "../costs/price-book.js";
import { Parameters } from "../engine/parameters.js";
import { usageRows, usageSql } from "../usage/stored-usage.js";
import type { StoredUsage } from "../usage/stored-usage.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import type { ResultsPlan } from "./results-plan.js";
import type { ResultsSource } from "./results-source.js";
import { selectPredictions } from "./trial-sql.js";

/*
 * What a prediction used is what `/calls/usage` says of it: what it used itself and what the calls below it used, which are
 * of the same trace. Whether its client adds children up to what it reports is settled when calls are stored.
 */

/** What one call used itself, and when it began, in microseconds since 1970. */
export interface Used {
  us: bigint;
  usage: UsageRow[];
}

/** By the id of a call, what the calls below it used; calls below which nothing is reported are missing. */
export type UsageBelow = ReadonlyMap<string, readonly Used[]>;

export interface CallInTrace {
  id: string;
  trace: string;
}

/** Calls whose children are found by one statement. */
const parentsAtOnce = 10_000;

/** Reads the usage of all calls below each of the given ones, level by level. Of one level only ids are held. */
export async function usageBelow(source: ResultsSource, calls: readonly CallInTrace[]): Promise<UsageBelow> {
  const found = new Map<string, Used[]>();
  const traces = [...new Set(calls.map(({ trace }) => trace))];
  // Parents may form a circle.
  const seen = new Set(calls.map(({ id }) => id));
  let level = new Map(calls.map(({ id }) => [id, id]));
  while (level.size > 0) {
    const parents = [...level.keys()];
    const next = new Map<string, string>();
    for (let from = 0; from < parents.length; from += parentsAtOnce) {
      for await (const call of childrenOf(source, traces, parents.slice(from, from + parentsAtOnce))) {
        const top = level.get(call.parent);
        if (top === undefined || seen.has(call.id)) continue;
        seen.add(call.id);
        next.set(call.id, top);
        if (call.used.usage.length === 0) continue;
        const ofTop = found.get(top);
        if (ofTop === undefined) found.set(top, [call.used]);
        else ofTop.push(call.used);
      }
    }
    level = next;
  }
  return found;
}

async function* childrenOf(
  { engine, scope, signal }: ResultsSource,
  traces: readonly string[],
  parents: readonly string[],
) {
  const statement = () => {
    const p = new Parameters();
    const union = visibleCalls(scope(), p, {
      select: [
        "id AS call_id",
        "parent_id AS call_parent",
        "version",
        "toUnixTimestamp64Micro(started_at) AS us",
        ...usageSql,
      ],
      prewhere: [p.in("trace_id", "String", traces), p.in("parent_id", "String", parents)],
    });
    const columns = "call_id, call_parent, us, models, counts";
    return { sql: `SELECT ${columns} FROM (${union}) ORDER BY version DESC LIMIT 1 BY call_id`, params: p };
  };
  type Row = StoredUsage & { call_id: string; call_parent: string; us: string };
  for await (const row of engine.stream<Row>(statement, { signal })) {
    yield { id: row.call_id, parent: row.call_parent, used: { us: BigInt(row.us), usage: usageRows(row) } };
  }
}

/** What calls below the predictions of runs used, a part of the predictions at a time; `clause` chooses trials by their rows. */
export async function* usageBelowRuns(
  source: ResultsSource,
  { runs }: Pick<ResultsPlan, "runs">,
  clause: (p: Parameters) => string = () => "",
): AsyncGenerator<Array<{ run_id: string; prediction_id: string; used: readonly Used[] }>, void, undefined> {
  const { engine, scope, signal } = source;
  const statement = () => {
    const p = new Parameters();
    const predictions = selectPredictions(scope(), p, {
      rare: [p.in("parent_id", "String", runs)],
      columns: ["trace_id AS call_trace"],
      select: ["trial_id", "run_id", "row_digest", "call_id AS prediction_id", "call_trace"],
    });
    return { sql: `SELECT run_id, prediction_id, call_trace FROM (${predictions})${clause(p)}`, params: p };
  };
  type Row = { run_id: string; prediction_id: string; call_trace: string };
  const below = async (predictions: readonly Row[]) => {
    const found = await usageBelow(
      source,
      predictions.map(({ prediction_id, call_trace }) => ({ id: prediction_id, trace: call_trace })),
    );
    return predictions.flatMap(({ run_id, prediction_id }) => {
      const used = found.get(prediction_id);
      return used === undefined ? [] : [{ run_id, prediction_id, used }];
    });
  };
  let some: Row[] = [];
  for await (const row of engine.stream<Row>(statement, { signal })) {
    if (some.push(row) < parentsAtOnce) continue;
    yield await below(some);
    some = [];
  }
  if (some.length > 0) yield await below(some);
}

/** Predictions whose tokens one statement can name. */
const maxNamed = 200_000;

/** The plan with what its statements must be told, where filters or sort use tokens. Throws `too_large`. */
export async function withTokensBelow(source: ResultsSource, plan: ResultsPlan): Promise<ResultsPlan> {
  if (!plan.columns.has("total_tokens") || plan.runs.length === 0) return plan;
  const tokensBelow = new Map<string, number>();
  for await (const predictions of usageBelowRuns(source, plan)) {
    for (const { prediction_id, used } of predictions) tokensBelow.set(prediction_id, tokensOf(used) ?? 0);
    if (tokensBelow.size > maxNamed)
      throw new HeddleError(
        "too_large",
        `more than ${maxNamed} predictions whose tokens other calls report; ask for fewer runs`,
      );
  }
  return { ...plan, tokensBelow };
}

/** The tokens that calls used; null where they report nothing. */
export function tokensOf(calls: readonly Used[]): number | null {
  const rows = calls.flatMap(({ usage }) => usage);
  return rows.length === 0 ? null : rows.reduce((sum, { total_tokens }) => sum + total_tokens, 0);
}

/** The sum over models that have a price, each call at that of its start; null when none has. */
export function costOfUsage(book: PriceBook, used: readonly Used[]): number | null {
  let cost: number | null = null;
  for (const { us, usage } of used) {
    for (const row of usage) {
      const price = book.priceAt(row.model, us);
      if (price !== undefined) cost = (cost ?? 0) + totalCost(costOf(row, price));
    }
  }
  return cost;
}
