import { findsAll, timeDirection, whichCalls } from "../query/call-query.js";
import type { CallPlan } from "../query/call-query.js";
import { newestBy } from "../schema/newest-by.js";
import type { CallRow } from "../stored-calls/stored-call.js";
import { readsRunning } from "../visibility/visible-calls.js";
import { newestFirst } from "./newest-in-memory.js";
import { runningInMemory } from "./running-in-memory.js";
import { fetchBytes, fetchCalls, maxDropped, rowsOfTables, spareRows } from "./statements.js";
import { located } from "./row-source.js";
import type { PageRow, RowSource } from "./row-source.js";
import type { CallList, PlannedCalls } from "./statements.js";
import { inTableOrder } from "./table-order.js";

/** Up to here a list is read as a page: its keys first. A longer one is a stream. */
export const pageRows = 1000;
/** Up to here a page in the order of the table is read with its payloads. */
export const shortPageRows = 200;

/**
 * Keys first, then the payloads of just these calls, a few megabytes at a time: conditions and order read no other payload.
 * Calls by id, and a short page in the order of the table, get the small payloads with the keys, which saves most of them the
 * second statement.
 */
export async function* pageOfCalls(list: CallList, mostRows: number): AsyncGenerator<CallRow, void, undefined> {
  const { byId } = list;
  const visible = await firstRows(list, mostRows);
  if (byId?.within !== undefined && visible.length < byId.ids.length) {
    const all = await list.find(located(visible));
    if (all !== undefined && all.ids.length > visible.length) {
      yield* pageOfCalls({ ...list, byId: all }, mostRows);
      return;
    }
  }
  yield* callsOfRows(list, visible);
}

/** The calls of a list from its offset to its limit, by all of its rows up to there. */
export async function* callsOfRows(
  list: CallList,
  visible: readonly PageRow[],
): AsyncGenerator<CallRow, void, undefined> {
  const { limit, offset } = list;
  for (const rows of bySize(visible.slice(offset, limit === undefined ? undefined : offset + limit))) {
    const release = await list.reserve?.(rows.reduce((sum, { bytes }) => sum + bytes, 0));
    try {
      const large = rows.filter(({ whole }) => whole === undefined);
      const fetched = large.length === 0 ? undefined : await fetchCalls(list, located(large));
      for (const { id, whole = fetched?.get(id) } of rows) if (whole !== undefined) yield whole;
    } finally {
      release?.();
    }
  }
}

/** The first calls of a list, each by its newest row. */
export async function firstRows(list: PlannedCalls, most: number): Promise<PageRow[]> {
  return await firstCalls(sourcesOf(list, most), most, list.plan);
}

/**
 * Where the rows of a page come from: the tables, or where rows can be merged in the order of the table, complete calls from
 * theirs or, the newest ones, out of memory, and running ones out of memory. Memory is asked first: a call that ends meanwhile is found twice, never missed.
 */
function sourcesOf(list: PlannedCalls, mostRows: number): RowSource[] {
  const { plan, byId } = list;
  const scope = list.scope();
  const inOrder = isInTableOrder(plan);
  const isShort = plan.seek === undefined && (byId !== undefined || (mostRows <= shortPageRows && inOrder));
  const smallBytes = isShort ? Math.floor(fetchBytes / (mostRows + (findsAll(plan) ? maxDropped : 0))) : 0;
  const mayMerge = inOrder && readsRunning(scope, whichCalls(plan, byId));
  const running = mayMerge ? runningInMemory(plan, scope, byId, list.select) : undefined;
  if (running !== undefined) return [running, newestFirst(list, rowsOfTables(list, smallBytes, "complete"))];
  const tables = rowsOfTables(list, smallBytes);
  return [inOrder && !mayMerge ? newestFirst(list, tables) : tables];
}

/**
 * The first calls of a list, each by its newest row. Few calls have two rows, so that no more are read than are wanted; when
 * such calls leave one of the sources without enough, all are read again, with some to spare: what is missing could come
 * before what another one has.
 */
async function firstCalls(sources: readonly RowSource[], most: number, plan: CallPlan): Promise<PageRow[]> {
  for (let spare = 0; ; spare = 2 * spare + spareRows) {
    const found = await Promise.all(sources.map((read) => read(most + spare)));
    const rows = found.flatMap((source) => source.rows);
    const newest = newestBy(rows, ({ id }) => id);
    const isNewest = (row: PageRow) => newest.get(row.id) === row;
    if (found.some((source) => !source.complete && source.rows.filter(isNewest).length < most)) continue;
    const calls = rows.filter(isNewest);
    const ordered = sources.length === 1 ? calls : inTableOrder(calls, timeDirection(plan));
    return ordered.slice(0, most);
  }
}

export const isInTableOrder = ({ sort }: CallPlan): boolean =>
  sort.length === 1 && sort[0]?.field.kind === "column" && sort[0].field.name === "started_at";

/** Groups whose payloads are held in memory at a time. */
export function bySize<Row extends { bytes: number }>(rows: readonly Row[]): Row[][] {
  const groups: Row[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    size += row.bytes;
    if (size > fetchBytes) {
      groups.push([]);
      size = row.bytes;
    }
    groups.at(-1)?.push(row);
  }
  return groups;
}
