import { HeddleError } from "@heddle/errors";
import type { ApiSchemas } from "../api-schemas.js";
import { firstRows, isInTableOrder, shortPageRows } from "../call-reading/page.js";
import type { PageRow } from "../call-reading/row-source.js";
import { locateSelected, scopeOf } from "../call-reading/selection.js";
import type { PlannedCalls } from "../call-reading/statements.js";
import type { CallReads, CallReadsContext } from "../calls/calls.js";
import type { ReadOptions } from "../context.js";
import { planCalls, timeDirection } from "../query/call-query.js";
import type { CallPlan, CallSelector } from "../query/call-query.js";
import type { Search } from "../query/parse-search.js";
import { checkPage } from "../query/page.js";
import type { OrderPosition, Seek } from "../query/seek.js";
import { parseSelect, selectPrice } from "./call-select.js";
import { estimateCalls } from "./estimate-calls.js";
import { readMatches } from "./read-matches.js";
import { columnsWithKeys, readRows } from "./read-rows.js";
import type { RowShape, RowsSource } from "./read-rows.js";
import type { CallPageRow, Included } from "./row-columns.js";
import { placeAfter, searchRows } from "./search-page.js";
import type { SearchedRows } from "./search-page.js";

/** Where a page begins or ends; it begins where the order does when there is nothing. */
export type PageStart =
  | { after: OrderPosition }
  /** Undefined is behind the last call. */
  | { before: OrderPosition | undefined }
  /** Microseconds since 1970; needs the order of time. */
  | { at_time: bigint };

/** What to return of each call. */
export interface RowRequest extends Partial<Included> {
  /** Names of properties and paths into free JSON. */
  select?: readonly string[] | undefined;
  /** The most characters of a leaf. */
  preview_chars: number;
}

export interface CallsPageRequest
  extends Pick<CallSelector, "project_id" | "filter" | "query" | "search" | "sort_by">, RowRequest {
  start?: PageStart | undefined;
  limit: number;
  total?: ApiSchemas["CallsPageReq"]["total"];
}

export interface CallsPage {
  calls: CallPageRow[];
  /** Whether calls follow in the direction that was read. */
  has_more: boolean;
  /** The places of the first and the last call; undefined on an empty page. */
  first: OrderPosition | undefined;
  last: OrderPosition | undefined;
  total?: { value: number; exact: boolean };
  /** Of a search: whether the page is as full as it can be, else up to where was searched, microseconds since 1970. */
  search?: { complete: boolean; searched_to: bigint | undefined };
  /** Every change up to here is in the page. */
  seq: bigint;
}

export interface CallPages {
  /**
   * Reads a page by the key of its order. Throws `unprocessable` for a time with another order than that of time, and else as
   * queries of calls do.
   */
  page(request: CallsPageRequest, options?: ReadOptions): Promise<CallsPage>;
}

export interface CallPagesContext extends CallReadsContext {
  count: CallReads["count"];
  /** The greatest version below every change of calls that is under way. */
  settled: () => bigint;
}

export function openCallPages(context: CallPagesContext): CallPages {
  return { page: (request, options) => readPage(context, request, options) };
}

const newestFirst = [{ field: "started_at", direction: "desc" }] as const;

async function readPage(
  context: CallPagesContext,
  request: CallsPageRequest,
  options: ReadOptions = {},
): Promise<CallsPage> {
  const { project_id, limit, start } = request;
  checkPage({ limit }, 1);
  const shape = shapeOf(request);
  const sort = request.sort_by?.length ? request.sort_by : [...newestFirst];
  const planned = planCalls({ ...request, sort_by: sort }, { select: selectPrice(shape.select) });
  const plan: CallPlan = { ...planned, seek: seekOf(planned, start) };
  const seq = context.settled();
  const scope = scopeOf(context, project_id);
  const source = {
    engine: context.engine,
    lookups: context.lookups,
    scope,
    reserve: options.reserve,
    signal: options.signal,
  };
  const byId = await locateSelected(context, plan, options);
  const isShort = plan.search === undefined && isInTableOrder(plan) && limit < shortPageRows;
  const shown = isShort ? columnsWithKeys(shape, limit + 1) : undefined;
  const list = { ...source, select: [], plan, byId, shown };
  const found = byId?.ids.length === 0 ? { rows: [] } : await findRows(list, limit + 1);
  const keys = found.rows.slice(0, limit);
  if (plan.seek?.reversed === true) keys.reverse();
  const readBook = async () => await context.costs.book(project_id, options.signal);
  const calls: CallPageRow[] = [];
  for await (const row of readRows({ ...source, readBook }, keys, shape)) calls.push(row);
  if (plan.search !== undefined) await addMatches({ ...source, readBook }, { keys, calls, search: plan.search });
  const total = await countTotal(context, request, options);
  return {
    calls,
    has_more: found.rows.length > limit || found.searchedTo !== undefined,
    ...endsOf(keys, plan, found.searchedTo),
    ...(plan.search !== undefined && {
      search: { complete: found.searchedTo === undefined, searched_to: found.searchedTo },
    }),
    ...(total !== undefined && { total }),
    seq,
  };
}

/** In the order of time a search ends early; any other order needs all that it finds. */
async function findRows(list: PlannedCalls, most: number): Promise<SearchedRows> {
  const { search, filter } = list.plan;
  const isLarge = list.byId === undefined && !filter.trace_ids?.length;
  if (search !== undefined && isLarge && isInTableOrder(list.plan)) return await searchRows(list, most);
  return { rows: await firstRows(list, most) };
}

/** The places of the first and the last call; where the search has not ended, the place from which it goes on. */
function endsOf(
  keys: readonly PageRow[],
  plan: CallPlan,
  searchedTo: bigint | undefined,
): Pick<CallsPage, "first" | "last"> {
  const [first, last] = [keys[0]?.position, keys.at(-1)?.position];
  if (searchedTo === undefined) return { first, last };
  const place = placeAfter(searchedTo, plan);
  return plan.seek?.reversed === true ? { first: place, last } : { first, last: place };
}

async function addMatches(
  source: RowsSource,
  { keys, calls, search }: { keys: readonly PageRow[]; calls: readonly CallPageRow[]; search: Search },
): Promise<void> {
  const matches = await readMatches(source, keys, search);
  for (const call of calls) call.matches = matches.get(call.id);
}

export function shapeOf({
  select,
  preview_chars,
  costs = false,
  feedback = false,
  sizes = false,
}: RowRequest): RowShape {
  return { select: parseSelect(select), previewChars: preview_chars, included: { costs, feedback, sizes } };
}

function seekOf(plan: CallPlan, start: PageStart | undefined): Seek {
  if (start === undefined) return { reversed: false, from: undefined };
  if ("after" in start) return { reversed: false, from: start.after };
  if ("before" in start) return { reversed: true, from: start.before };
  const [key, ...others] = plan.sort;
  if (key?.field.text !== "started_at" || others.length > 0) throw notByTime();
  // Ids are not empty: every call of that microsecond comes after the place.
  const from = timeDirection(plan) === "asc" ? start.at_time : start.at_time + 1n;
  return { reversed: false, from: [String(from), ""] };
}

function notByTime(): HeddleError {
  return new HeddleError("unprocessable", "a page at a time needs the order of started_at alone", { loc: ["at_time"] });
}

async function countTotal(context: CallPagesContext, request: CallsPageRequest, options: ReadOptions) {
  const { project_id, filter, query, search, total } = request;
  const selection = { project_id, filter, query, search };
  if (total === "estimate") return await estimateCalls(context, selection, options);
  if (total !== "exact") return undefined;
  return { value: (await context.count(selection, options)).count, exact: true };
}
