import { traceNameOf } from "@heddle/trace-model";
import type { CallField } from "@heddle/trace-model";
import { needsNames } from "../query/call-columns.js";
import { timeDirection } from "../query/call-query.js";
import type { CallPlan } from "../query/call-query.js";
import { expressionFields } from "../query/expression.js";
import { filterOf, opTest } from "../query/filter.js";
import type { FilteredCall } from "../query/filter.js";
import { compareStarts } from "../stored-calls/compare-starts.js";
import type { Positioned } from "../stored-calls/compare-starts.js";
import { statedColumns } from "../stored-calls/stated-columns.js";
import type { StatedColumn } from "../stored-calls/stated-columns.js";
import type { CallScope } from "../visibility/call-scope.js";
import { columnCondition } from "./column-condition.js";
import type { Value } from "./column-condition.js";

/** Memory is searched on the thread that serves all: for longer expressions the table is. */
const maxExpressionText = 2000;

/** What a plan asks of a call, for calls in memory. */
export interface MemoryTest {
  /** The filter. */
  passes: (call: FilteredCall) => boolean;
  /** The query. */
  matches: (valueOf: (field: CallField) => Value) => boolean;
}

/** Undefined when a plan asks for what only tables can tell: payloads, refs, feedback, renames. */
export function memoryTest(
  { filter, expression, search }: CallPlan,
  { project_id, inFlight }: CallScope,
): MemoryTest | undefined {
  const passes = filterOf(filter, project_id);
  if (passes === undefined || search !== undefined) return undefined;
  if (expression === undefined) return { passes, matches: () => true };
  if (JSON.stringify(expression, textOfBigint).length > maxExpressionText) return undefined;
  if (inFlight.hasNames(project_id) && expressionFields(expression).some(needsNames)) return undefined;
  const matches = columnCondition(expression);
  return matches && { passes, matches };
}

const textOfBigint = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);

/** Whether a call comes after the place from which a plan by time reads. */
export function afterPosition(plan: CallPlan): (call: Positioned) => boolean {
  const [started, id] = plan.seek?.from ?? [];
  if (typeof started !== "string" || typeof id !== "string") return () => true;
  const place = { started_at: BigInt(started), id };
  const sign = timeDirection(plan) === "desc" ? -1 : 1;
  return (call) => sign * compareStarts(call, place) > 0;
}

/** The columns of a start that are compared. */
type StartValues = FilteredCall & Readonly<Record<StatedColumn | "display_name", string | null>>;

/** The kind of a call as the engine computes it. */
export function kindOf(stated: string | null, opKey: string | null, usesModel: boolean): string {
  if (stated) return stated;
  if (usesModel) return "model";
  return opKey?.endsWith(".score") === true ? "scorer" : "other";
}

/** The value of a column or a computed field of a start; null for what only ends have. */
export function startValue(field: CallField, projectId: string, call: Positioned, start: StartValues): Value {
  if (field.kind === "ops") return opTest(field.ops)?.(start) ?? null;
  if (field.kind === "weave" && field.name === "trace_name")
    return traceNameOf({ op_name: start.op_name ?? "", display_name: start.display_name });
  if (field.kind !== "column") return null;
  const stated = statedColumns.find((column) => column.field === field.name);
  if (stated !== undefined) {
    const text = start[stated.column];
    return text && stated.type === "int" ? BigInt(text) : text || null;
  }
  switch (field.name) {
    case "id":
      return call.id;
    case "project_id":
      return projectId;
    case "started_at":
      return call.started_at;
    case "trace_id":
    case "op_name":
    case "display_name":
      return start[field.name] || null;
    default:
      return null;
  }
}
