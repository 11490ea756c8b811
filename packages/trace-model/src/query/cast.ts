import { HeddleError } from "@heddle/errors";
import { firstCharacters } from "@heddle/exact-json";
import { isStorableTime, parseTime } from "../time.js";
import { typeOf } from "./expression.js";
import type { CastTarget, Comparison, Expression, TypedField, ValueType } from "./expression.js";

/**
 * A comparison with its implied casts. `eq` with null asks for absence; any other comparison with null is unknown. Throws
 * `unprocessable` for a time that is compared with a literal that is none.
 */
export function compare<F extends TypedField>(
  op: Comparison,
  left: Expression<F>,
  right: Expression<F>,
): Expression<F> {
  const leftNull = typeOf(left) === null;
  const rightNull = typeOf(right) === null;
  if (leftNull || rightNull) {
    if (op !== "eq") return unknown;
    if (leftNull && rightNull) return { op: "literal", value: true };
    return { op: "is_null", operand: leftNull ? right : left };
  }
  if (right.op === "literal" && typeof right.value === "bigint") return compareInteger(op, left, right.value);
  if (left.op === "literal" && typeof left.value === "bigint") return compareInteger(mirrored[op], right, left.value);
  const [a, b] = commonType(left, right);
  return { op, left: a, right: b };
}

const mirrored = { eq: "eq", gt: "lt", gte: "lte", lt: "gt", lte: "gte" } as const;

function compareInteger<F extends TypedField>(op: Comparison, left: Expression<F>, value: bigint): Expression<F> {
  if (left.op !== "literal" && typeOf(left) === "text") return { op: "integer", comparison: op, input: left, value };
  if (typeOf(left) === "int") return { op, left, right: { op: "literal", value } };
  return compare(op, left, { op: "literal", value: Number(value) });
}

/**
 * A list test. Mixed literal types were refused before; nulls never match and are left out. Throws `unprocessable` for a
 * time that is compared with a literal that is none.
 */
export function within<F extends TypedField>(
  operand: Expression<F>,
  list: ReadonlyArray<string | number | boolean | bigint>,
): Expression<F> {
  const type = typeOf(operand);
  if (type === null) return unknown;
  const integers = list.filter((value) => typeof value === "bigint");
  if (integers.length > 0 && (type === "text" || type === "int")) {
    const others = list.filter((value) => typeof value !== "bigint");
    const exact: Expression<F> = { op: "in", operand, type: "int", values: integers };
    return others.length === 0 ? exact : { op: "or", operands: [exact, within(operand, others)] };
  }
  const values = list.map((value) => (typeof value === "bigint" ? Number(value) : value));
  if (type === "time") return { op: "in", operand, type, values: values.map(timeOf) };
  const numbers = values.filter((value) => typeof value === "number");
  if (numbers.length > 0) {
    const input = type === "int" ? operand : cast(operand, "double");
    return { op: "in", operand: input, type: "double", values: numbers };
  }
  const booleans = values.filter((value) => typeof value === "boolean");
  if (booleans.length > 0) {
    return { op: "in", operand: cast(operand, "bool"), type: "bool", values: booleans };
  }
  const strings = values.filter((value) => typeof value === "string");
  return { op: "in", operand: cast(operand, "text"), type: "text", values: strings };
}

/** The expression as a value of this type; itself when it already is one. */
export function cast<F extends TypedField>(expression: Expression<F>, type: Exclude<ValueType, "time">): Expression<F> {
  const from = typeOf(expression);
  if (from === type || from === null) return expression;
  return { op: "convert", input: expression, to: targetOf[type] };
}

export const unknown = { op: "literal", value: null } as const;

const targetOf: Readonly<Record<Exclude<ValueType, "time">, CastTarget>> = {
  text: "string",
  double: "double",
  int: "int",
  bool: "bool",
};

type Pair<F extends TypedField> = [Expression<F>, Expression<F>];

function commonType<F extends TypedField>(left: Expression<F>, right: Expression<F>): Pair<F> {
  if (right.op === "literal") return withLiteral(left, right);
  if (left.op === "literal") {
    const [b, a] = withLiteral(right, left);
    return [a, b];
  }
  const a = typeOf(left);
  const b = typeOf(right);
  if (a === b || (isNumber(a) && isNumber(b))) return [left, right];
  if (a === "time" || b === "time") {
    const type = isNumber(a) || isNumber(b) ? "double" : "text";
    return [cast(left, type), cast(right, type)];
  }
  const type = isNumber(a) || isNumber(b) ? "double" : "bool";
  return [castUnlessNumber(left, type), castUnlessNumber(right, type)];
}

function withLiteral<F extends TypedField>(
  other: Expression<F>,
  literal: Extract<Expression<F>, { op: "literal" }>,
): Pair<F> {
  const { value } = literal;
  if (typeOf(other) === "time" && value !== null) return [other, { op: "time", us: timeOf(value) }];
  if (typeof value === "number") return [castUnlessNumber(other, "double"), literal];
  return [cast(other, typeof value === "boolean" ? "bool" : "text"), literal];
}

/** A number that is out of range has another unit; a date that is out of range limits nothing. */
function timeOf(value: string | number | boolean | bigint): bigint {
  const us = typeof value === "boolean" ? undefined : parseTime(typeof value === "bigint" ? Number(value) : value);
  if (us !== undefined && (isStorableTime(us) || Number.isNaN(Number(value)))) return us;
  throw new HeddleError(
    "unprocessable",
    `${firstCharacters(JSON.stringify(String(value)), 60)} is not a time: expected an ISO 8601 date-time, or seconds or milliseconds since 1970`,
    { loc: [] },
  );
}

function castUnlessNumber<F extends TypedField>(expression: Expression<F>, type: "double" | "bool"): Expression<F> {
  return type === "double" && isNumber(typeOf(expression)) ? expression : cast(expression, type);
}

function isNumber(type: ValueType | null): boolean {
  return type === "double" || type === "int";
}
