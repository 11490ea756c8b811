import { statedKind } from "../src/calls/kind.js";
import type { CallKind } from "../src/calls/kind.js";
import { latencyOf, statusOf, traceNameOf, wholeMilliseconds } from "../src/calls/summary.js";
import type { CallStatus } from "../src/calls/summary.js";
import { arrayItems, compareCodePoints, jsonType, storable } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { convertValue } from "./convert.js";
import type { Value } from "./convert.js";
import { typeOf } from "../src/query/expression.js";
import type { Expression } from "../src/query/expression.js";
import type { CallColumn, CallField, ComputedField } from "../src/query/field.js";
import { leafAt, leafText } from "../src/query/leaf.js";
import { opKey } from "../src/refs/op-name.js";
import { usageOf } from "../src/usage/usage.js";

/** A call as a query sees it. Absent optional values may be undefined, null or "". */
export type QueryableCall = { [name in Exclude<CallColumn, TimeOrStep>]?: string | null } & {
  started_at: bigint;
  ended_at?: bigint | null;
  deleted_at?: bigint | null;
  wb_run_step?: number | null;
  wb_run_step_end?: number | null;
  op_name: string;
  attributes: JsonText;
  inputs: JsonText;
  summary: JsonText;
  output?: JsonText;
};

type TimeOrStep = "started_at" | "ended_at" | "deleted_at" | "wb_run_step" | "wb_run_step_end" | "op_name";
type CallExpression = Expression<CallField>;

/**
 * Whether the call fulfils the query. Slow and simple: it is what the store's SQL, and what it finds in memory, is tested
 * against. Fields of feedback and queues are unknown here.
 */
export function matches(expression: CallExpression, call: QueryableCall): boolean {
  return evaluate(expression, call) === true;
}

function evaluate(expression: CallExpression, call: QueryableCall): Value {
  switch (expression.op) {
    case "and":
      return every(expression.operands.map((operand) => evaluate(operand, call)));
    case "or": {
      const operands = expression.operands.map((operand) => negate(evaluate(operand, call)));
      return negate(every(operands));
    }
    case "not":
      return negate(evaluate(expression.operand, call));
    case "is_null":
      return !exists(expression.operand, call);
    case "in": {
      const value = evaluate(expression.operand, call);
      if (expression.type === "int" && typeof value === "string") {
        const number = exactNumber(value);
        return number === null ? null : expression.values.some((candidate) => order(number, candidate) === 0);
      }
      if (value === null) return null;
      return expression.values.some((candidate) => order(value, candidate) === 0);
    }
    case "integer": {
      const number = exactNumber(evaluate(expression.input, call));
      return number === null ? null : holds(expression.comparison, order(number, expression.value));
    }
    case "contains":
      return contains(expression, call);
    case "field":
      return fieldValue(expression.field, call);
    case "literal":
      return expression.value;
    case "time":
      return expression.us;
    case "convert":
      if (expression.to === "exists") return exists(expression.input, call);
      return convertValue(evaluate(expression.input, call), typeOf(expression.input), expression.to);
    case "size":
      return size(expression.input, call);
    default: {
      const left = evaluate(expression.left, call);
      const right = evaluate(expression.right, call);
      return left === null || right === null ? null : holds(expression.op, order(left, right));
    }
  }
}

/** The number in a text: whole ones exactly, others as doubles. */
function exactNumber(text: Value): number | bigint | null {
  const double = convertValue(text, "text", "double");
  if (typeof double !== "number") return null;
  return /^[+-]?\d+$/.test(String(text)) ? BigInt(String(text).replace("+", "")) : double;
}

function holds(op: "eq" | "gt" | "gte" | "lt" | "lte", order: number): boolean {
  if (op === "eq") return order === 0;
  if (op === "gt") return order > 0;
  if (op === "gte") return order >= 0;
  return op === "lt" ? order < 0 : order <= 0;
}

function order(a: NonNullable<Value>, b: NonNullable<Value>): number {
  if (typeof a === "string" && typeof b === "string") return compareCodePoints(a, b);
  if (a < b) return -1;
  return a > b ? 1 : 0;
}

function every(values: readonly Value[]): Value {
  if (values.includes(false)) return false;
  return values.includes(null) ? null : true;
}

function negate(value: Value): Value {
  return value === null ? null : value !== true;
}

function contains(expression: Extract<CallExpression, { op: "contains" }>, call: QueryableCall): Value {
  const input = evaluate(expression.input, call);
  const substr = evaluate(expression.substr, call);
  if (typeof input !== "string" || typeof substr !== "string") return null;
  if (input === "") return false;
  if (!expression.case_insensitive) return input.includes(substr);
  return input.toLowerCase().includes(substr.toLowerCase());
}

function exists(expression: CallExpression, call: QueryableCall): boolean {
  if (expression.op === "field" && expression.field.kind === "json") {
    return jsonLeaf(expression.field, call) !== undefined;
  }
  return evaluate(expression, call) !== null;
}

function size(expression: CallExpression, call: QueryableCall): Value {
  if (expression.op !== "field" || expression.field.kind !== "json") return null;
  const leaf = jsonLeaf(expression.field, call);
  return leaf !== undefined && jsonType(leaf) === "array" ? BigInt(arrayItems(leaf).length) : null;
}

function fieldValue(field: CallField, call: QueryableCall): Value {
  switch (field.kind) {
    case "column": {
      const value = call[field.name] ?? null;
      if (field.nullable && value === "") return null;
      return typeof value === "number" ? BigInt(value) : value;
    }
    case "json":
      return leafText(jsonLeaf(field, call));
    case "weave":
      return computedValue(field.name, call);
    default:
      return null;
  }
}

function jsonLeaf(field: Extract<CallField, { kind: "json" }>, call: QueryableCall): JsonText | undefined {
  return leafAt(storable(call[field.column] ?? "null").text, field.path);
}

function computedValue(name: ComputedField, call: QueryableCall): Value {
  if (name === "trace_name") return traceNameOf(call);
  if (name === "status") return filterStatus(call);
  if (name === "kind") return kindOf(call);
  const latency = latencyOf(call.started_at, call.ended_at);
  return latency === undefined ? null : BigInt(wholeMilliseconds(latency));
}

/** Of a call without others below it. */
function kindOf({ attributes, summary, ended_at, op_name }: QueryableCall): CallKind {
  const stated = statedKind(attributes);
  if (stated !== undefined) return stated;
  if (ended_at !== undefined && ended_at !== null && usageOf(summary).length > 0) return "model";
  return opKey(op_name).endsWith(".score") ? "scorer" : "other";
}

/** Filters ask for failed descendants before they ask whether the call still runs. */
function filterStatus(call: QueryableCall): CallStatus {
  const status = statusOf(call);
  if (status !== "running") return status;
  const ended = statusOf({ ...call, ended_at: call.started_at });
  return ended === "descendant_error" ? ended : "running";
}
