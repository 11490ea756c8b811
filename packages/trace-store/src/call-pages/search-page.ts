import { firstRows } from "../call-reading/page.js";
import type { PageRow } from "../call-reading/row-source.js";
import type { PlannedCalls } from "../call-reading/statements.js";
import { Parameters } from "../engine/parameters.js";
import { timeDirection } from "../query/call-query.js";
import type { CallPlan } from "../query/call-query.js";
import type { OrderPosition } from "../query/seek.js";
import { visibleCalls } from "../visibility/visible-calls.js";

/** A search ends after so long with what it has found. */
const searchMs = 2000;
/** So many calls are searched first, however long that takes: each page comes further. */
const firstCalls = 5000;
/** A part is at most so many times as large as the one before it. */
const growth = 16;

export interface SearchedRows {
  /** In the direction of reading. */
  rows: PageRow[];
  /** Up to where everything was searched, when time was up: microseconds since 1970. */
  searchedTo?: bigint;
}

/** The place in the order of time from which a search goes on. */
export const placeAfter = (searchedTo: bigint, plan: CallPlan): OrderPosition =>
  isBackward(plan) ? [String(searchedTo), ""] : [String(searchedTo + 1n), ""];

/**
 * Searches in the order of time, part by part, each of more calls than the one before as long as they are searched fast, and
 * ends early with enough rows.
 */
export async function searchRows(list: PlannedCalls, most: number): Promise<SearchedRows> {
  const end = performance.now() + searchMs;
  const rows: PageRow[] = [];
  let calls = firstCalls;
  let place = list.plan.seek?.from;
  let searchedTo: bigint | undefined;
  for (;;) {
    const started = performance.now();
    if (searchedTo !== undefined && started >= end) return { rows, searchedTo };
    const bound = await timeOfCall(list, place, calls);
    const seek = { reversed: false, ...list.plan.seek, from: place };
    const part = { ...list, plan: { ...list.plan, seek, upTo: bound } };
    const timeUp = AbortSignal.timeout(Math.max(1, Math.ceil(end - started)));
    // The first part is searched to its end.
    const signal = searchedTo === undefined ? list.signal : anyOf(timeUp, list.signal);
    try {
      rows.push(...(await firstRows({ ...part, signal }, most - rows.length)));
    } catch (error) {
      if (!timeUp.aborted || searchedTo === undefined || list.signal?.aborted === true) throw error;
      return { rows, searchedTo };
    }
    if (bound === undefined || rows.length >= most) return { rows };
    searchedTo = bound;
    place = placeAfter(bound, list.plan);
    const took = Math.max(1, performance.now() - started);
    const left = end - performance.now();
    calls = Math.max(firstCalls / 10, Math.floor(calls * Math.min(growth, left / (2 * took))));
  }
}

const anyOf = (timeUp: AbortSignal, signal: AbortSignal | undefined): AbortSignal =>
  signal === undefined ? timeUp : AbortSignal.any([timeUp, signal]);

const isBackward = (plan: CallPlan): boolean => timeDirection(plan) === "desc";

/** When the call started that is so many calls behind a place, in the direction of reading; undefined when there are fewer. */
async function timeOfCall(
  { engine, scope, signal, plan }: PlannedCalls,
  place: OrderPosition | undefined,
  calls: number,
): Promise<bigint | undefined> {
  const backward = isBackward(plan);
  const [from] = place ?? [];
  const statement = () => {
    const p = new Parameters();
    const next = visibleCalls(scope(), p, {
      select: ["started_at"],
      where: from ? [`started_at ${backward ? "<=" : ">="} ${p.time(BigInt(from))}`] : [],
      orderBy: `started_at ${backward ? "DESC" : "ASC"}`,
      limit: calls,
      only: "complete",
      withHidden: true,
    });
    const last = backward ? "min" : "max";
    const sql = `SELECT toUnixTimestamp64Micro(${last}(started_at)) AS us, count() AS calls FROM (${next})`;
    return { sql, params: p };
  };
  const [row] = await engine.rows<{ us: string; calls: string }>(statement, { signal });
  return row === undefined || Number(row.calls) < calls ? undefined : BigInt(row.us);
}
