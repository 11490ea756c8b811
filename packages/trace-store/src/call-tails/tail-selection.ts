import { statedFields } from "@heddle/trace-model";
import type { CallField, Expression } from "@heddle/trace-model";
import { mostBytes } from "../call-pages/read-rows.js";
import type { RowShape } from "../call-pages/read-rows.js";
import type { CallPlan } from "../query/call-query.js";
import { expressionFields } from "../query/expression.js";

/** Which calls a tail is about, and what it shows of them. */
export interface TailSelection {
  /** Without its ids. */
  plan: CallPlan;
  /** The only calls that it is about. */
  ids: ReadonlySet<string> | undefined;
  /** The conditions on what does not change about a call; undefined where that is all of them. */
  stable: CallPlan | undefined;
  /** Whether feedback on a call changes what is shown of it, or whether it is shown. */
  readsFeedback: boolean;
  shape: RowShape;
}

export function tailSelection(plan: CallPlan, shape: RowShape): TailSelection {
  const { call_ids: ids = [], ...filter } = plan.filter;
  const rest: CallPlan = { ...plan, filter };
  const fields = plan.expression === undefined ? [] : expressionFields(plan.expression);
  return {
    plan: rest,
    ids: ids.length === 0 ? undefined : new Set(ids),
    stable: stablePart(rest),
    readsFeedback: shape.included.feedback || fields.some(({ kind }) => kind === "feedback"),
    shape,
  };
}

/** So many changes are read at once: their rows are in memory together. */
export function changesAtOnce({ shape }: TailSelection): number {
  return Math.max(1, Math.min(500, Math.floor(4_000_000 / mostBytes(assumedBytes, shape))));
}

/** About the size of a call that is not known. */
export const assumedBytes = 8192;

/** What a start says, which is sent once. */
const stableColumns = new Set(["id", "project_id", "trace_id", "op_name", "started_at", ...Object.keys(statedFields)]);

function stablePart(plan: CallPlan): CallPlan | undefined {
  const { output_refs: outputRefs, ...filter } = plan.filter;
  const { expression } = plan;
  const operands = expression?.op === "and" ? expression.operands : expression === undefined ? [] : [expression];
  const stable = operands.filter((operand) => expressionFields(operand).every(isStable));
  const isAll = stable.length === operands.length && !outputRefs?.length && plan.search === undefined;
  return isAll ? undefined : { ...plan, filter, expression: both(stable), search: undefined };
}

function isStable(field: CallField): boolean {
  if (field.kind === "ops" || field.kind === "op_text") return true;
  if (field.kind === "column") return stableColumns.has(field.name);
  return field.kind === "json" && (field.column === "inputs" || field.column === "attributes");
}

function both(operands: Array<Expression<CallField>>): Expression<CallField> | undefined {
  return operands.length < 2 ? operands[0] : { op: "and", operands };
}
