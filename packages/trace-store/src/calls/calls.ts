import type { ApiSchemas } from "../api-schemas.js";
import { likelyLocations } from "../call-reading/locate.js";
import { locateSelected, scopeOf, selectCalls } from "../call-reading/selection.js";
import type { SelectionContext } from "../call-reading/selection.js";
import { finishCalls } from "./finish.js";
import type { Finish } from "./finish.js";
import { fetchCall, readCallRows } from "../call-reading/list.js";
import type { CallSource } from "../call-reading/statements.js";
import type { ReadOptions } from "../context.js";
import type { Engine } from "../engine/engine.js";
import { checkPage } from "../query/page.js";
import { Parameters } from "../engine/parameters.js";
import { findsAll, planCalls } from "../query/call-query.js";
import type { CallPlan, CallSelector, LocatedCalls } from "../query/call-query.js";
import type { Refs } from "../refs/refs.js";
import { withCosts } from "../costs/call-costs.js";
import type { Costs } from "../costs/costs.js";
import { callStats } from "../stats/stats.js";
import type { CallStats, CallStatsRequest } from "../stats/stats.js";
import { callColumns, toStoredCall } from "../stored-calls/stored-call.js";
import type { CallRow, StoredCall } from "../stored-calls/stored-call.js";
import { callsUsage, traceUsage } from "../usage/usage.js";
import type { CallsUsageRequest, TraceUsageRequest, UsageByCall } from "../usage/usage.js";
import { readWithRunning } from "../visibility/read-with-running.js";
import { readRetention } from "../visibility/retention.js";
import { runningSize } from "../visibility/running-calls.js";
import type { CallsSize } from "../visibility/running-calls.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import type { CallScope } from "../visibility/call-scope.js";

export interface CallReadsContext extends SelectionContext {
  /**
   * For lookups in the middle of a list. Where reads wait for a slot, lookups need slots of their own: lists that hold
   * all slots would wait for each other.
   */
  lookups: Engine;
  /** Reads by `lookups`. */
  refs: Refs;
  /** Reads by `lookups`. */
  costs: Pick<Costs, "book">;
}

type IncludeOptions = Pick<
  ApiSchemas["CallReadReq"],
  "include_costs" | "include_feedback" | "include_storage_size" | "include_total_storage_size"
>;

/** Absent: no limit, all columns, expanded values. */
export interface CallsQuery
  extends
    CallSelector,
    IncludeOptions,
    Pick<ApiSchemas["CallsQueryReq"], "limit" | "offset" | "columns" | "return_expanded_column_values"> {}

export interface CallRead extends IncludeOptions, Pick<ApiSchemas["CallReadReq"], "project_id" | "id"> {}

/** The count stops at the limit. */
export interface CallCount
  extends CallSelector, Pick<ApiSchemas["CallsQueryStatsReq"], "limit" | "include_total_storage_size"> {}

export interface CallReads {
  /**
   * Calls in order, one by one, with back-pressure; leaving the loop or aborting stops the statement. Errors of the
   * request are thrown before anything is read.
   */
  query(request: CallsQuery, options?: ReadOptions): AsyncIterable<StoredCall>;
  /** Undefined when there is no such call, or no longer. */
  read(request: CallRead, options?: ReadOptions): Promise<StoredCall | undefined>;
  count(request: CallCount, options?: ReadOptions): Promise<{ count: number; total_storage_size_bytes: number | null }>;
  callStats(request: CallStatsRequest, options?: ReadOptions): Promise<CallStats>;
  callsUsage(request: CallsUsageRequest, options?: ReadOptions): Promise<UsageByCall>;
  traceUsage(request: TraceUsageRequest, options?: ReadOptions): Promise<UsageByCall>;
}

/** Reads of calls. All throw `invalid` for requests that cannot be carried out and `busy` when the engine cannot respond. */
export function callReads(context: CallReadsContext): CallReads {
  const usageSource = ({ project_id }: { project_id: string }, options: ReadOptions = {}) => ({
    engine: context.engine,
    scope: scopeOf(context, project_id),
    readBook: async () => await context.costs.book(project_id, options.signal),
    signal: options.signal,
    reserve: options.reserve,
  });
  return {
    query: (request, options) => query(context, request, planCalls(request), options),
    read: (request, options) => read(context, request, options),
    count: (request, options) => count(context, request, options),
    callStats: (request, options) => callStats(usageSource(request, options), request),
    callsUsage: (request, options) => callsUsage(usageSource(request, options), request),
    traceUsage: (request, options) => traceUsage(usageSource(request, options), request),
  };
}

async function* query(
  context: CallReadsContext,
  request: CallsQuery,
  plan: CallPlan,
  options: ReadOptions = {},
): AsyncGenerator<StoredCall, void, undefined> {
  const { limit, offset = 0 } = request;
  checkPage({ limit, offset });
  const source = sourceOf(context, request, options);
  const likely = likelyLocations(source.scope(), plan, { limit, offset });
  const byId = likely ?? (await locateSelected(context, plan, options));
  const find = async (found: LocatedCalls) => await locateSelected(context, plan, { ...options, found });
  if (limit === 0 || byId?.ids.length === 0) return;
  const expand = request.return_expanded_column_values === false ? [] : plan.expand;
  yield* finish(
    context,
    request,
    { ...source, expand },
    readCallRows({ ...source, plan, byId, find, limit, offset, lookups: context.lookups }),
  );
}

async function read(
  context: CallReadsContext,
  request: CallRead,
  options: ReadOptions = {},
): Promise<StoredCall | undefined> {
  const source = sourceOf(context, request, options);
  const row = await fetchCall(source, request.id);
  if (row === undefined) return undefined;
  for await (const call of finish(context, request, { ...source, expand: [] }, [row])) return call;
  return undefined;
}

function sourceOf(
  context: CallReadsContext,
  request: IncludeOptions & { project_id: string; columns?: readonly string[] },
  { signal, reserve }: ReadOptions,
): CallSource {
  const { columns } = request;
  const total = request.include_total_storage_size === true;
  const needed = [...(total ? ["parent_id"] : []), ...(request.include_costs === true ? ["costs"] : [])];
  const select = callColumns(columns === undefined ? undefined : [...columns, ...needed]);
  if (request.include_storage_size === true) select.push("size_bytes");
  return { engine: context.engine, scope: scopeOf(context, request.project_id), select, signal, reserve };
}

async function* finish(
  context: CallReadsContext,
  request: IncludeOptions & { project_id: string },
  source: CallSource & Pick<Finish, "expand">,
  rows: AsyncIterable<CallRow> | Iterable<CallRow>,
): AsyncGenerator<StoredCall, void, undefined> {
  const { project_id } = request;
  const retentionUs = await readRetention(context.engine, context.inFlight, project_id);
  const finished = finishCalls(toCalls(project_id, rows, retentionUs), {
    ...source,
    engine: context.lookups,
    refs: context.refs,
    names: source.select.includes("display_name") && context.inFlight.hasNames(project_id),
    totalSizes: request.include_total_storage_size === true,
    feedback: request.include_feedback === true,
  });
  yield* request.include_costs === true
    ? withCosts(finished, async () => await context.costs.book(project_id, source.signal))
    : finished;
}

async function* toCalls(
  projectId: string,
  rows: AsyncIterable<CallRow> | Iterable<CallRow>,
  retentionUs: bigint | undefined,
): AsyncGenerator<StoredCall, void, undefined> {
  for await (const row of rows) yield toStoredCall(projectId, row, retentionUs);
}

async function count(context: CallReadsContext, request: CallCount, options: ReadOptions = {}) {
  const { limit } = request;
  checkPage({ limit }, 1);
  const sizes = request.include_total_storage_size === true;
  const { plan, isEmpty, scope: scopeNow, conditions } = await selectCalls(context, request, options);
  if (isEmpty) return { count: 0, total_storage_size_bytes: sizes ? 0 : null };
  const isAll = findsAll(plan);
  const statement = (only?: "complete") => {
    const p = new Parameters();
    const scope = scopeNow();
    const probe = limit !== undefined && !sizes;
    const select = probe
      ? ["1 AS n", "0 AS bytes"]
      : ["toInt64(count()) AS n", `${sizes ? "toInt64(sum(size_bytes))" : "toInt64(0)"} AS bytes`];
    const union = visibleCalls(scope, p, {
      ...conditions(scope, p),
      select,
      limit: probe ? limit : undefined,
      only,
      aggregation: !probe && isAll ? "sums" : undefined,
    });
    return { sql: probe ? `SELECT sum(n) AS n, sum(bytes) AS bytes FROM (${union})` : union, params: p };
  };
  // Of all calls the engine counts whole granules, and reads few: another thread takes longer to start than to help.
  const settings = isAll ? { max_threads: 1 } : {};
  const read = async (only?: "complete") => {
    type Row = { n: string; bytes: string };
    const rows = await context.engine.rows<Row>(() => statement(only), { ...options, settings });
    const parts = rows.map(({ n, bytes }) => ({ count: Number(n), bytes: Number(bytes) }));
    return parts.reduce(sumOf, { count: 0, bytes: 0 });
  };
  const scope = scopeNow();
  const found = await readWithRunning(scope, isAll ? allRunning(scope, sizes) : undefined, read, sumOf);
  return {
    count: limit === undefined ? found.count : Math.min(found.count, limit),
    total_storage_size_bytes: sizes ? found.bytes : null,
  };
}

function sumOf(a: CallsSize, b: CallsSize): CallsSize {
  return { count: a.count + b.count, bytes: a.bytes + b.bytes };
}

/** How many visible calls of a project run, and if asked for their bytes; undefined when memory does not know. */
function allRunning(scope: CallScope, sizes: boolean): CallsSize | undefined {
  const { project_id, inFlight } = scope;
  if (sizes || inFlight.retentionUs(project_id) !== undefined) return runningSize(scope);
  const count = inFlight.running(project_id);
  return count === undefined ? undefined : { count, bytes: 0 };
}
