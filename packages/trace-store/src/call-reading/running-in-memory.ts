import { matches, readable } from "@heddle/trace-model";
import type { CallField, Expression, SortKey } from "@heddle/trace-model";
import { readStart } from "../stored-calls/call-sides.js";
import type { StartSide } from "../stored-calls/call-sides.js";
import { needsNames } from "../query/call-columns.js";
import type { CallPlan, CallsById } from "../query/call-query.js";
import { expressionFields } from "../query/expression.js";
import { inTableOrder } from "./table-order.js";
import { filterOf, restricts } from "../query/filter.js";
import type { CallsFilter, FilteredCall } from "../query/filter.js";
import { sizeOf, visibleRunning } from "../visibility/running-calls.js";
import type { CallScope } from "../visibility/visible-calls.js";
import type { CallRow } from "../stored-calls/stored-call.js";

type SortDirection = SortKey<CallField>["direction"];

/** Memory is searched on the thread that serves all: beyond any of these the table is. */
const maxBytes = 4_000_000;
/** Where an expression may look into each byte, once for each of its fields. */
const maxQueriedBytes = 500_000;
const maxExpressionText = 2000;

/** A row as the table of running calls would return it, with its key. */
interface RunningRow extends Omit<CallRow, keyof FilteredCall>, FilteredCall {
  version: string;
  bytes: string;
  inMemory: true;
}

/**
 * Finds the first running calls of a plan, by their start, out of memory; undefined when memory does not have them all, they
 * are many or large, or the plan asks for what only tables can tell.
 *
 * Ask before the complete calls are read: a call that ends meanwhile is then found twice, never missed. Searching memory takes
 * this thread some milliseconds: it can wait until the engine is busy, and finds what was running at first.
 */
export function runningInMemory(
  { filter, expression, expand }: CallPlan,
  scope: CallScope,
  byId: CallsById | undefined,
  { direction, most }: { direction: SortDirection; most: number },
): (() => RunningRow[]) | undefined {
  const { project_id, inFlight } = scope;
  const visible = visibleRunning(scope, byId?.ids);
  const passes = filterOf(filter, project_id);
  if (visible === undefined || passes === undefined) return undefined;
  if (sizeOf(visible) > (expression === undefined ? maxBytes : maxQueriedBytes)) return undefined;
  if (expression !== undefined && !isCheap(expression)) return undefined;
  if (expression !== undefined && !isInRow(expression, inFlight.hasNames(project_id), expand.length > 0))
    return undefined;
  return () => {
    const found: RunningRow[] = [];
    for (const { id, side, version } of inTableOrder(visible, direction)) {
      if (found.length === most) break;
      const row = readRow(id, side, version);
      if (passes(row) && (expression === undefined || matches(expression, queryable(project_id, row, side))))
        found.push(row);
    }
    return found;
  };
}

/** When the running calls that a filter finds started, out of memory; undefined as for {@link runningInMemory}. */
export function runningTimes(scope: CallScope, filter: CallsFilter): bigint[] | undefined {
  const visible = visibleRunning(scope, filter.call_ids?.length ? filter.call_ids : undefined);
  const passes = filterOf(filter, scope.project_id);
  if (visible === undefined || passes === undefined || sizeOf(visible) > maxBytes) return undefined;
  const found = restricts(filter, scope.project_id)
    ? visible.filter(({ id, side, version }) => passes(readRow(id, side, version)))
    : visible;
  return found.map(({ started_at }) => started_at);
}

function isCheap(expression: Expression<CallField>): boolean {
  const text = JSON.stringify(expression, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
  return text.length <= maxExpressionText;
}

/** Whether a row alone tells what an expression asks: no feedback, renames or values behind refs. */
function isInRow(expression: Expression<CallField>, hasNames: boolean, expands: boolean): boolean {
  return expressionFields(expression).every(
    (field) =>
      field.kind !== "feedback" &&
      field.kind !== "queue" &&
      !(field.kind === "json" && expands) &&
      !(hasNames && needsNames(field)),
  );
}

function readRow(id: string, side: StartSide, version: bigint): RunningRow {
  const start = readStart(side);
  return {
    id,
    version: String(version),
    bytes: String(side.size_bytes),
    inMemory: true,
    trace_id: start.trace_id ?? "",
    parent_id: start.parent_id ?? "",
    thread_id: start.thread_id ?? "",
    turn_id: start.turn_id ?? "",
    op: start.op_name ?? "",
    op_key: start.op_key ?? "",
    display_name: start.display_name ?? "",
    user_id: start.user_id ?? "",
    run_id: start.run_id ?? "",
    run_step: start.run_step,
    run_step_end: null,
    started_us: String(side.started_at),
    ended_us: null,
    latency_us: null,
    state: "running",
    failure: null,
    attributes: start.attributes ?? "",
    inputs: start.inputs ?? "",
    output: "null",
    summary: "{}",
    exact: Object.fromEntries(side.exact),
    size_bytes: String(side.size_bytes),
  };
}

function queryable(projectId: string, row: RunningRow, { started_at }: StartSide) {
  const { user_id: user, run_id: run, run_step: step, attributes = "", inputs = "", exact } = row;
  return {
    id: row.id,
    project_id: projectId,
    trace_id: row.trace_id,
    parent_id: row.parent_id,
    thread_id: row.thread_id,
    turn_id: row.turn_id,
    op_name: row.op,
    display_name: row.display_name ?? null,
    wb_user_id: user,
    wb_run_id: run,
    wb_run_step: step === null || step === undefined ? null : Number(step),
    started_at,
    attributes: readable(attributes, exact["attributes"]),
    inputs: readable(inputs, exact["inputs"]),
    summary: "{}",
  };
}
