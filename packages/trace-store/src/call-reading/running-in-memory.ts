import { setImmediate } from "node:timers/promises";
import { traceNameOf } from "@heddle/trace-model";
import type { CallField } from "@heddle/trace-model";
import { unquoted } from "../engine/tab-separated.js";
import { needsNames } from "../query/call-columns.js";
import { timeDirection } from "../query/call-query.js";
import type { CallPlan, CallsById } from "../query/call-query.js";
import { expressionFields } from "../query/expression.js";
import { filterOf, opTest, restricts } from "../query/filter.js";
import type { CallsFilter } from "../query/filter.js";
import { readStart } from "../stored-calls/call-sides.js";
import type { StartTexts } from "../stored-calls/call-sides.js";
import { eachStated, statedColumns } from "../stored-calls/stated-columns.js";
import { pickColumns } from "../stored-calls/stored-call.js";
import type { CallRow } from "../stored-calls/stored-call.js";
import { sizeOf, visibleRunning } from "../visibility/running-calls.js";
import type { RunningCall } from "../visibility/running-calls.js";
import type { CallScope } from "../visibility/visible-calls.js";
import { columnCondition } from "./column-condition.js";
import type { Value } from "./column-condition.js";
import type { PageRow, RowSource } from "./row-source.js";
import { compareStarts, inTableOrder } from "./table-order.js";

/** Memory is searched on the thread that serves all: beyond any of these the table is. */
const maxBytes = 4_000_000;
const maxExpressionText = 2000;

/**
 * The running calls of a plan in the order of the table, out of memory, as they are now; undefined when memory does not have
 * them all, they are many or large, or the plan asks for what only tables can tell: payloads, refs, feedback, renames.
 *
 * Searching memory takes this thread some milliseconds: it waits until the engine is busy.
 */
export function runningInMemory(
  plan: CallPlan,
  scope: CallScope,
  byId: CallsById | undefined,
  select: readonly string[],
): RowSource | undefined {
  const { filter, expression, search, seek } = plan;
  const { project_id, inFlight } = scope;
  const visible = visibleRunning(scope, byId?.ids);
  const passes = filterOf(filter, project_id);
  if (visible === undefined || passes === undefined || search !== undefined) return undefined;
  if (sizeOf(visible) > maxBytes) return undefined;
  if (expression !== undefined) {
    if (JSON.stringify(expression, textOfBigint).length > maxExpressionText) return undefined;
    if (inFlight.hasNames(project_id) && expressionFields(expression).some(needsNames)) return undefined;
  }
  const matches = expression === undefined ? () => true : columnCondition(expression);
  if (matches === undefined) return undefined;
  return async (most) => {
    await setImmediate();
    const rows: PageRow[] = [];
    for (const call of afterPosition(inTableOrder(visible, timeDirection(plan)), plan)) {
      if (rows.length === most) break;
      const start = readStart(call.side);
      if (!passes(start) || !matches((field) => valueOf(field, project_id, call, start))) continue;
      const whole = pickColumns(rowOf(call, start), select);
      const { id, version, started_at, side } = call;
      const position = seek && [String(started_at), id];
      rows.push({ id, version, started_at, bytes: side.size_bytes, whole, position });
    }
    return { rows, complete: rows.length < most };
  };
}

/** Those of the calls, which are in the order of a plan by time, that come after the place from which it is read. */
function afterPosition(calls: readonly RunningCall[], plan: CallPlan): readonly RunningCall[] {
  const [started, id] = plan.seek?.from ?? [];
  if (typeof started !== "string" || typeof id !== "string") return calls;
  const place = { started_at: BigInt(started), id };
  const sign = timeDirection(plan) === "desc" ? -1 : 1;
  return calls.filter((call) => sign * compareStarts(call, place) > 0);
}

/** When the running calls that a filter finds started, out of memory; undefined as for {@link runningInMemory}. */
export function runningTimes(scope: CallScope, filter: CallsFilter): bigint[] | undefined {
  const visible = visibleRunning(scope, filter.call_ids?.length ? filter.call_ids : undefined);
  const passes = filterOf(filter, scope.project_id);
  if (visible === undefined || passes === undefined || sizeOf(visible) > maxBytes) return undefined;
  const found = restricts(filter, scope.project_id) ? visible.filter(({ side }) => passes(readStart(side))) : visible;
  return found.map(({ started_at }) => started_at);
}

const textOfBigint = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);

/** A row as the table of running calls would return it. */
function rowOf({ id, side }: RunningCall, start: StartTexts): CallRow {
  return {
    id,
    trace_id: start.trace_id ?? "",
    ...eachStated(({ column }) => start[column]),
    op: start.op_name ?? "",
    display_name: start.display_name ?? "",
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
    exact: Object.fromEntries(side.exact.map(([column, text]) => [column, unquoted(text)])),
    size_bytes: String(side.size_bytes),
  };
}

/** The value of a column or a computed field of a running call. */
function valueOf(field: CallField, projectId: string, { id, started_at }: RunningCall, start: StartTexts): Value {
  if (field.kind === "weave") {
    const { op_name, op_key, display_name, stated_kind } = start;
    switch (field.name) {
      case "status":
        return "running";
      case "trace_name":
        return traceNameOf({ op_name: op_name ?? "", display_name });
      case "kind":
        return stated_kind || (op_key?.endsWith(".score") === true ? "scorer" : "other");
      case "latency_ms":
        return null;
    }
  }
  if (field.kind === "ops") return opTest(field.ops)?.(start) ?? null;
  if (field.kind !== "column") return null;
  const stated = statedColumns.find((column) => column.field === field.name);
  if (stated !== undefined) {
    const text = start[stated.column];
    return text && stated.type === "int" ? BigInt(text) : text || null;
  }
  switch (field.name) {
    case "id":
      return id;
    case "project_id":
      return projectId;
    case "started_at":
      return started_at;
    case "trace_id":
    case "op_name":
    case "display_name":
      return start[field.name] || null;
    default:
      // What only ends have.
      return null;
  }
}
