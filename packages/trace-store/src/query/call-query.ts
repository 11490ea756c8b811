import { Mistakes } from "@heddle/errors";
import type { ApiSchemas } from "../api-schemas.js";
import { opsByName, parseCallField, parseQuery, parseSort } from "@heddle/trace-model";
import type { CallField, Expression, SortKey } from "@heddle/trace-model";
import type { Parameters } from "../engine/parameters.js";
import type { CallScope } from "../visibility/call-scope.js";
import type { CallSelection } from "../visibility/visible-calls.js";
import { callFields } from "./call-fields.js";
import { CallSql } from "./call-sql.js";
import { jsonSource, parseExpand, refsTo } from "./expand.js";
import { compileQuery } from "./expression.js";
import { checkFilter, compileFilter, restricts } from "./filter.js";
import type { CallsFilter } from "./filter.js";
import { leafJson, leafOrNull } from "./json-path.js";
import { CallFieldPrices, checkPrice, expandPrice, expressionPrice, sortPrice } from "./price.js";
import type { Prices } from "./price.js";
import { beyond, seekCharacters } from "./seek.js";
import type { Seek } from "./seek.js";
import { compileSort } from "./sort.js";
import { during } from "../stored-calls/time-spans.js";
import { compileSearch } from "./compile-search.js";
import { parseSearch } from "./parse-search.js";
import type { Search, SearchRequest } from "./parse-search.js";
import type { TimeSpan } from "../stored-calls/time-spans.js";

/** Which calls a request asks for, unchecked; ordered by started_at unless it has a sort. */
export interface CallSelector extends Pick<
  ApiSchemas["CallsQueryReq"],
  "project_id" | "filter" | "sort_by" | "expand_columns"
> {
  /** `{"$expr": …}` */
  query?: unknown;
  search?: SearchRequest | undefined;
}

/** The same, read and checked. */
export interface CallPlan {
  project_id: string;
  filter: CallsFilter;
  expression: Expression<CallField> | undefined;
  search: Search | undefined;
  sort: Array<SortKey<CallField>>;
  expand: ReturnType<typeof parseExpand>;
  /** From where on, and in which direction, the order is read; undefined from its beginning. */
  seek?: Seek | undefined;
  /** The part of an order of time that is read: up to calls that started then. */
  upTo?: bigint | undefined;
}

/** Calls by id; with `started_at` only those that started then, with `within` those that started within these spans. */
export interface CallsById {
  ids: readonly string[];
  started_at?: readonly bigint[];
  within?: readonly TimeSpan[];
}

/** Calls whose times are known. */
export interface LocatedCalls extends CallsById {
  started_at: readonly bigint[];
}

const byStart: Array<SortKey<CallField>> = [{ field: parseCallField("started_at"), direction: "asc" }];

/**
 * Throws `invalid` or `unprocessable` for what is not a query, sort or filter of calls, and `too_large` for what is too expensive,
 * together with what else the request asks for.
 */
export function planCalls(request: CallSelector, others: Prices = {}): CallPlan {
  const { project_id, filter = {}, query, sort_by: sortBy, search, expand_columns: expand } = request;
  const mistakes = new Mistakes();
  mistakes.attempt(() => checkFilter(filter));
  const sort = mistakes.attempt(() => (sortBy === undefined ? [] : parseSort(sortBy, parseCallField))) ?? [];
  const expression = mistakes.attempt(() => (query === undefined ? undefined : parseQuery(query, parseCallField)));
  const plan = {
    project_id,
    filter,
    expression: expression && opsByName(expression, project_id),
    search: mistakes.attempt(() => search && parseSearch(search)),
    sort: sort.length === 0 ? byStart : sort,
    expand: mistakes.attempt(() => parseExpand(expand)) ?? [],
  };
  mistakes.throwAll();
  checkPrice({ ...pricesOf(plan), ...others });
  return plan;
}

/** What the engine pays to plan lookups of fields. */
export function fieldsPrice(fields: readonly CallField[]): number {
  const prices = new CallFieldPrices(() => []);
  const own = fields.reduce((sum, field) => sum + prices.of(field), 0);
  return own + prices.shared().feedback;
}

function pricesOf({ expression, sort, expand }: CallPlan): Prices {
  const fields = new CallFieldPrices((field) => (field.kind === "json" ? refsTo(expand, field) : []));
  const query = expression === undefined ? 0 : expressionPrice(expression, fields.of);
  const order = sortPrice(sort, fields.of);
  const { feedback, refs } = fields.shared();
  return { query: query + feedback, sort_by: order, expand_columns: expandPrice(expand) + refs };
}

/** The part of a selection for `visibleCalls` that says which calls. */
export type CallConditions = Pick<CallSelection, "where" | "joins" | "names" | "ids" | "traceIds" | "lookUp">;

/** The conditions of a plan. */
export function compileCalls(plan: CallPlan, scope: CallScope, p: Parameters, byId?: CallsById): CallConditions {
  return compile(plan, scope, p, byId).conditions();
}

/**
 * The conditions of a plan, and SQL of what its calls have at some fields: NULL where there is nothing, with `json` the JSON of
 * those in free JSON, '' where there is nothing. Of feedback that a call has several of, the oldest counts.
 */
export function compileFields(
  plan: CallPlan,
  { scope, p, byId, json = false }: { scope: CallScope; p: Parameters; byId: CallsById | undefined; json?: boolean },
  fields: readonly CallField[],
): { values: string[]; conditions: CallConditions } {
  const { sql, source, conditions } = compile(plan, scope, p, byId);
  const compiled = callFields(sql, source, plan.project_id);
  const values = fields.map((field) => {
    if (json && field.kind === "json") {
      const { document, path } = source(field);
      return leafJson(sql, document, path);
    }
    if (field.kind !== "feedback") return compiled.presence(field);
    const oldest = sql.feedback.first(field);
    return field.part === "payload" ? leafOrNull(sql, oldest, []) : `nullIf(${oldest}, '')`;
  });
  return { values, conditions: conditions() };
}

/** The conditions of a plan and its order. */
export function compileSortedCalls(plan: CallPlan, scope: CallScope, p: Parameters, byId?: CallsById) {
  const { sql, source, conditions } = compile(plan, scope, p, byId);
  const order = compileSort(sql, plan.sort, source, plan.seek && { ...plan.seek, textCharacters: seekCharacters });
  const { where = [], ...rest } = conditions();
  const after = plan.seek === undefined ? [] : beyond(p, order, plan.seek);
  if (plan.upTo !== undefined)
    after.push(`started_at ${timeDirection(plan) === "desc" ? ">=" : "<="} ${p.time(plan.upTo)}`);
  return { order, conditions: { ...rest, where: [...where, ...after] } };
}

/** The direction in which a plan reads the calls by their start, where it does so by that alone. */
export function timeDirection({ sort, seek }: CallPlan): "asc" | "desc" {
  return ((sort[0]?.direction ?? "asc") === "asc") === (seek?.reversed === true) ? "desc" : "asc";
}

function compile(plan: CallPlan, scope: CallScope, p: Parameters, byId: CallsById | undefined) {
  const sql = new CallSql(p);
  const filter = [...compileFilter(p, plan.filter, plan.project_id), ...(byId === undefined ? [] : at(p, byId))];
  const source = jsonSource(sql, scope, plan.expand, filter);
  const where = [...filter];
  if (plan.expression !== undefined)
    where.push(compileQuery(sql, plan.expression, callFields(sql, source, plan.project_id)));
  if (plan.search !== undefined) where.push(...compileSearch(sql, plan.search, scope));
  // Joins and names are complete once everything else is compiled.
  const conditions = (): CallConditions => ({
    where,
    joins: [...sql.joins, ...sql.feedback.joins(scope.project_id)],
    names: sql.names,
    ...whichCalls(plan, byId),
  });
  return { sql, source, conditions };
}

/** Whether a plan finds every call of its project. */
export function findsAll(plan: CallPlan): boolean {
  return findsByIdAlone(plan) && !plan.filter.call_ids?.length;
}

/** Whether a plan finds every call that has one of the ids of its filter. */
export function findsByIdAlone({ project_id, filter, expression, search }: CallPlan): boolean {
  return expression === undefined && search === undefined && !restricts(filter, project_id);
}

/** The only calls that a plan can find. */
export function whichCalls(
  { filter: { trace_ids: traceIds = [] } }: CallPlan,
  byId: CallsById | undefined,
): Pick<CallSelection, "ids" | "traceIds" | "lookUp"> {
  return {
    ...(byId && { ids: byId.ids, lookUp: byId.started_at === undefined && byId.within === undefined }),
    ...(traceIds.length > 0 && { traceIds }),
  };
}

/** Calls whose times are known are found by the table's key. */
export function at(p: Parameters, { ids, started_at, within }: CallsById): string[] {
  return [
    ...(started_at === undefined ? [] : [p.inTimes("started_at", started_at)]),
    ...(within === undefined ? [] : [during(p, within)]),
    p.in("id", "String", ids),
  ];
}
