import type { ReadOptions } from "../context.js";
import type { Engine } from "../engine/engine.js";
import type { Parameters } from "../engine/parameters.js";
import { compileCalls, planCalls } from "../query/call-query.js";
import type { CallConditions, CallPlan, CallSelector, CallsById } from "../query/call-query.js";
import type { InFlight } from "../stored-calls/in-flight.js";
import type { CallScope } from "../visibility/call-scope.js";
import { locateCalls } from "./locate.js";
import type { LocateOptions } from "./locate.js";

export interface SelectionContext {
  engine: Engine;
  /** Microseconds since 1970. */
  now: () => bigint;
  inFlight: InFlight;
}

/** The calls of a project that a request means. */
export interface SelectedCalls {
  plan: CallPlan;
  /** The calls of `filter.call_ids`, where there is such a filter. */
  byId: CallsById | undefined;
  /** No call can match. */
  isEmpty: boolean;
  /** What to give `visibleCalls`, at the time of the statement. */
  scope: () => CallScope;
  /** The conditions for `visibleCalls`. */
  conditions: (scope: CallScope, p: Parameters) => CallConditions;
}

/**
 * Reads a selection and finds the calls that it names by id. Throws as {@link planCalls} does.
 *
 * ```ts
 * const { scope: now, conditions } = await selectCalls(context, { project_id, filter, query });
 * const statement = () => {
 *   const p = new Parameters();
 *   const scope = now();
 *   return { sql: visibleCalls(scope, p, { ...conditions(scope, p), select: ["id"] }), params: p };
 * };
 * ```
 */
export async function selectCalls(
  context: SelectionContext,
  selection: CallSelector,
  options: ReadOptions = {},
): Promise<SelectedCalls> {
  return await selectPlanned(context, planCalls(selection), options);
}

async function selectPlanned(
  context: SelectionContext,
  plan: CallPlan,
  options: LocateOptions = {},
): Promise<SelectedCalls> {
  const byId = await locateSelected(context, plan, options);
  return {
    plan,
    byId,
    isEmpty: byId?.ids.length === 0,
    scope: scopeOf(context, plan.project_id),
    conditions: (scope, p) => compileCalls(plan, scope, p, byId),
  };
}

/** The calls of `filter.call_ids`; undefined without such a filter. */
export async function locateSelected(
  context: SelectionContext,
  plan: CallPlan,
  options: LocateOptions,
): Promise<CallsById | undefined> {
  const ids = plan.filter.call_ids ?? [];
  if (ids.length === 0) return undefined;
  return await locateCalls(context.engine, scopeOf(context, plan.project_id), ids, options);
}

export function scopeOf({ now, inFlight }: SelectionContext, projectId: string): () => CallScope {
  return () => ({ project_id: projectId, now: now(), inFlight });
}
