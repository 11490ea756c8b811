import type { CallField, Comparison, Expression } from "@heddle/trace-model";

/** Null is unknown, as in SQL. */
export type Value = string | number | bigint | boolean | null;
type ValueOf = (field: CallField) => Value;
type Term = (valueOf: ValueOf) => Value;

/**
 * Compiles a query that compares columns and computed fields for calls in memory; undefined for one that looks into payloads or
 * converts values, which the engine does.
 */
export function columnCondition(expression: Expression<CallField>): ((valueOf: ValueOf) => boolean) | undefined {
  const term = termOf(expression);
  return term && ((valueOf) => term(valueOf) === true);
}

function termOf(expression: Expression<CallField>): Term | undefined {
  switch (expression.op) {
    case "and":
      return all(expression.operands, false);
    case "or":
      return all(expression.operands, true);
    case "not":
      return mapped(expression.operand, (value) => value !== true);
    case "is_null": {
      const operand = termOf(expression.operand);
      return operand && ((valueOf) => operand(valueOf) === null);
    }
    case "in": {
      if (expression.type !== "text" && expression.type !== "time") return undefined;
      const values = new Set<Value>(expression.values);
      return mapped(expression.operand, (value) => values.has(value));
    }
    case "field":
      if (!isInMemory(expression.field)) return undefined;
      return (valueOf) => valueOf(expression.field);
    case "literal":
      return () => expression.value;
    case "time":
      return () => expression.us;
    case "eq":
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return compared(expression.op, expression.left, expression.right);
    default:
      return undefined;
  }
}

function isInMemory(field: CallField): boolean {
  return field.kind === "column" || field.kind === "weave" || (field.kind === "ops" && field.ops.labels.length === 0);
}

/** Conjunction and disjunction: one `decisive` operand decides, else an unknown one makes the whole unknown. */
function all(operands: ReadonlyArray<Expression<CallField>>, decisive: boolean): Term | undefined {
  const terms = operands.map(termOf).filter((term) => term !== undefined);
  if (terms.length < operands.length) return undefined;
  return (valueOf) => {
    const values = new Set(terms.map((term) => term(valueOf)));
    if (values.has(decisive)) return decisive;
    return values.has(null) ? null : !decisive;
  };
}

function mapped(expression: Expression<CallField>, map: (value: Value) => boolean): Term | undefined {
  const term = termOf(expression);
  if (term === undefined) return undefined;
  return (valueOf) => {
    const value = term(valueOf);
    return value === null ? null : map(value);
  };
}

function compared(op: Comparison, a: Expression<CallField>, b: Expression<CallField>): Term | undefined {
  const [left, right] = [termOf(a), termOf(b)];
  if (left === undefined || right === undefined) return undefined;
  return (valueOf) => {
    const [first, second] = [left(valueOf), right(valueOf)];
    if (first === null || second === null) return null;
    if (op === "eq" && isOtherLength(first, second)) return false;
    return comparisons[op](orderOf(first, second));
  };
}

/** Most texts that are not equal differ in length, also where half a character counts as U+FFFD. */
const isOtherLength = (a: Value, b: Value) => typeof a === "string" && typeof b === "string" && a.length !== b.length;

const comparisons: Readonly<Record<Comparison, (order: number) => boolean>> = {
  eq: (order) => order === 0,
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
};

/** Texts are in the order of their bytes, as in the engine. */
function orderOf(a: NonNullable<Value>, b: NonNullable<Value>): number {
  if (a === b) return 0;
  if (typeof a === "string" && typeof b === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a < b) return -1;
  return a > b ? 1 : 0;
}
