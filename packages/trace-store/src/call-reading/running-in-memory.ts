import { setImmediate } from "node:timers/promises";
import type { CallField } from "@heddle/trace-model";
import { unquoted } from "../engine/tab-separated.js";
import { timeDirection } from "../query/call-query.js";
import type { CallPlan, CallsById } from "../query/call-query.js";
import { filterOf, restricts } from "../query/filter.js";
import type { CallsFilter } from "../query/filter.js";
import { readStart } from "../stored-calls/call-sides.js";
import type { StartTexts } from "../stored-calls/call-sides.js";
import { eachStated } from "../stored-calls/stated-columns.js";
import { pickColumns } from "../stored-calls/stored-call.js";
import type { CallRow } from "../stored-calls/stored-call.js";
import { sizeOf, visibleRunning } from "../visibility/running-calls.js";
import type { RunningCall } from "../visibility/running-calls.js";
import type { CallScope } from "../visibility/call-scope.js";
import type { Value } from "./column-condition.js";
import { afterPosition, kindOf, memoryTest, startValue } from "./memory-test.js";
import type { PageRow, RowSource } from "./row-source.js";
import { inTableOrder } from "./table-order.js";

/** Memory is searched on the thread that serves all: beyond this the table is. */
const maxBytes = 4_000_000;

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
  const { seek } = plan;
  const visible = visibleRunning(scope, byId?.ids);
  const test = memoryTest(plan, scope);
  if (visible === undefined || test === undefined || sizeOf(visible) > maxBytes) return undefined;
  const { passes, matches } = test;
  return async (most) => {
    await setImmediate();
    const rows: PageRow[] = [];
    const isAfter = afterPosition(plan);
    for (const call of inTableOrder(visible, timeDirection(plan))) {
      if (rows.length === most) break;
      if (!isAfter(call)) continue;
      const start = readStart(call.side);
      if (!passes(start) || !matches((field) => valueOf(field, scope.project_id, call, start))) continue;
      const whole = pickColumns(rowOf(call, start), select);
      const { id, version, started_at, side } = call;
      const position = seek && [String(started_at), id];
      rows.push({ id, version, started_at, bytes: side.size_bytes, whole, position });
    }
    return { rows, complete: rows.length < most };
  };
}

/** When the running calls that a filter finds started, out of memory; undefined as for {@link runningInMemory}. */
export function runningTimes(scope: CallScope, filter: CallsFilter): bigint[] | undefined {
  const visible = visibleRunning(scope, filter.call_ids?.length ? filter.call_ids : undefined);
  const passes = filterOf(filter, scope.project_id);
  if (visible === undefined || passes === undefined || sizeOf(visible) > maxBytes) return undefined;
  const found = restricts(filter, scope.project_id) ? visible.filter(({ side }) => passes(readStart(side))) : visible;
  return found.map(({ started_at }) => started_at);
}

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
function valueOf(field: CallField, projectId: string, call: RunningCall, start: StartTexts): Value {
  if (field.kind === "weave" && field.name === "status") return "running";
  if (field.kind === "weave" && field.name === "kind") return kindOf(start.stated_kind, start.op_key, false);
  return startValue(field, projectId, call, start);
}
