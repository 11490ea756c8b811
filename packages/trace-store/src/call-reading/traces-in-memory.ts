import { setImmediate } from "node:timers/promises";
import { Parameters } from "../engine/parameters.js";
import { timeDirection } from "../query/call-query.js";
import { compileFilter } from "../query/filter.js";
import { newestBy } from "../schema/newest-by.js";
import { isRetained } from "../visibility/retention.js";
import { readsRunning, visibleCalls } from "../visibility/visible-calls.js";
import { firstOfBlocks, keptRows, keptTest } from "./newest-in-memory.js";
import { isInTableOrder, pageRows } from "./page.js";
import { readBack } from "./read-back.js";
import type { PageRow } from "./row-source.js";
import { runningInMemory } from "./running-in-memory.js";
import { listSettings } from "./statements.js";
import type { CallList, PlannedCalls } from "./statements.js";
import { inTableOrder } from "./table-order.js";

/** They are looked up one by one. */
const mostTraces = 100;
/** To unpack so many takes 3 ms of the thread that serves all; a statement takes another thread. */
const mostBlocks = 16;

/**
 * All calls of a list of traces out of memory, in order; undefined when memory lacks some, or they are many. Where it does not have
 * the whole project, a statement asks whether the traces have calls from before: to find that there are none takes a third of
 * what it takes to read the traces.
 */
export async function tracesInMemory(list: CallList): Promise<PageRow[] | undefined> {
  const { plan, byId, select } = list;
  const traceIds = plan.filter.trace_ids ?? [];
  if (traceIds.length === 0 || traceIds.length > mostTraces || byId !== undefined) return undefined;
  if (!isInTableOrder(plan) || plan.seek !== undefined || plan.upTo !== undefined) return undefined;
  if (hasAllAfter(list, traceIds) === undefined) {
    void readBack(list);
    return undefined;
  }
  const scope = list.scope();
  // Running calls first: one that ends meanwhile is found twice, never missed.
  const mayRun = readsRunning(scope, { traceIds });
  const running = mayRun ? await runningInMemory(plan, scope, byId, select)?.(pageRows) : none;
  if (running?.complete !== true) return undefined;
  const after = hasAllAfter(list, traceIds);
  const complete = keptOf(list, traceIds);
  if (after === undefined || complete === undefined) return undefined;
  const [isCut, rows] = await Promise.all([
    after === "all" ? false : hasCallsBefore(list, traceIds, after),
    // Once the engine is busy.
    setImmediate().then(() => keptRows(complete, plan, select)),
  ]);
  if (isCut) return undefined;
  const newest = newestBy([...running.rows, ...rows], ({ id }) => id);
  return inTableOrder([...newest.values()], timeDirection(plan));
}

const none = { rows: [], complete: true };

/** The time after which memory has all calls of the traces; undefined where it has none of one of them, or some from before. */
function hasAllAfter({ scope }: PlannedCalls, traceIds: readonly string[]): bigint | "all" | undefined {
  const { project_id, inFlight } = scope();
  const newest = inFlight.newest(project_id);
  if (newest === undefined) return undefined;
  if (newest.isAll) return "all";
  const { after } = newest;
  const isAfter = (traceId: string) => {
    const calls = inFlight.keptOfTrace(project_id, traceId);
    return calls.length > 0 && calls.every(({ started_at }) => started_at > after);
  };
  return traceIds.every(isAfter) ? after : undefined;
}

/** Whether tables have complete calls of the traces that started up to then. */
async function hasCallsBefore(
  { engine, scope: now, signal }: PlannedCalls,
  traceIds: readonly string[],
  us: bigint,
): Promise<boolean> {
  const statement = () => {
    const [p, scope] = [new Parameters(), now()];
    const where = [...compileFilter(p, { trace_ids: [...traceIds] }, scope.project_id), `started_at <= ${p.time(us)}`];
    // That one is hidden only makes it slower.
    const which = { select: ["1 AS found"], where, limit: 1, only: "complete" as const, withHidden: true };
    return { sql: visibleCalls(scope, p, which), params: p };
  };
  return (await engine.rows(statement, { signal, settings: listSettings })).length > 0;
}

/** The complete calls of the traces that a plan finds. */
function keptOf({ plan, scope: now }: PlannedCalls, traceIds: readonly string[]) {
  const scope = now();
  const { project_id, inFlight } = scope;
  const test = keptTest(plan, scope);
  const isKept = isRetained(scope);
  const calls = [...new Set(traceIds)].flatMap((traceId) => inFlight.keptOfTrace(project_id, traceId));
  if (test === undefined || isKept === undefined || calls.length > pageRows) return undefined;
  if (calls.filter(firstOfBlocks()).length > mostBlocks) return undefined;
  return calls.filter((call) => isKept(call.started_at) && test(call).matches);
}
