import { startOfNewest } from "../call-reading/newest-calls.js";
import { selectCalls } from "../call-reading/selection.js";
import type { SelectedCalls } from "../call-reading/selection.js";
import type { CallReads, CallReadsContext } from "../calls/calls.js";
import type { ReadOptions } from "../context.js";
import { Parameters } from "../engine/parameters.js";
import { findsAll } from "../query/call-query.js";
import type { CallSelector } from "../query/call-query.js";
import { visibleCalls } from "../visibility/visible-calls.js";

/** Among so many of the newest calls matches are counted. */
const sampleCalls = 20_000;

type Context = CallReadsContext & Pick<CallReads, "count">;
type Selection = Pick<CallSelector, "project_id" | "filter" | "query" | "search">;

/**
 * How many calls match, by the share of matches among the newest ones; counted where that costs little: without conditions, for
 * calls by id or trace, and in a project that has no more calls than the sample.
 */
export async function estimateCalls(
  context: Context,
  selection: Selection,
  options: ReadOptions,
): Promise<{ value: number; exact: boolean }> {
  const { filter, project_id } = selection;
  const exactly = async () => ({ value: (await context.count(selection, options)).count, exact: true });
  const selected = await selectCalls(context, selection, options);
  if (findsAll(selected.plan) || selected.byId !== undefined || filter?.trace_ids?.length) return await exactly();
  const all = (await context.count({ project_id }, options)).count;
  if (all <= sampleCalls) return await exactly();
  const everything = await selectCalls(context, { project_id }, options);
  const since = await startOfNewest(context, project_id, sampleCalls, options);
  const [sampled, matching] = await countSince(context, [everything, selected], { since, options });
  return { value: Math.round(((matching ?? 0) * all) / Math.max(1, sampled ?? 0)), exact: false };
}

async function countSince(
  { engine }: Context,
  selections: readonly SelectedCalls[],
  { since, options: { signal } }: { since: bigint; options: ReadOptions },
): Promise<number[]> {
  const counts: number[] = [];
  for (const { scope: now, conditions } of selections) {
    const statement = () => {
      const p = new Parameters();
      const scope = now();
      const { where = [], ...rest } = conditions(scope, p);
      const recent = [`started_at >= ${p.time(since)}`, ...where];
      const calls = visibleCalls(scope, p, { ...rest, where: recent, select: ["toInt64(count()) AS n"] });
      return { sql: `SELECT sum(n) AS calls FROM (${calls})`, params: p };
    };
    const [row] = await engine.rows<{ calls: string }>(statement, { signal });
    counts.push(Number(row?.calls ?? 0));
  }
  return counts;
}
