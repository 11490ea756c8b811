/** `text` is also what every JSON leaf reads as; `time` is microseconds. */
export type ValueType = "text" | "double" | "int" | "bool" | "time";

/** What the parser needs to know of a field of any resource. */
export interface TypedField {
  /** The path as the client wrote it. */
  text: string;
  type: ValueType;
  /** The values are refs, which clients may spell differently: equal means that they lead to the same. */
  refs?: boolean;
}

export type CastTarget = "double" | "string" | "int" | "bool" | "exists";

export type Comparison = "eq" | "gt" | "gte" | "lt" | "lte";

/**
 * A query with all implied casts spelled out: operands of and, or, not are booleans (or null), both sides of a
 * comparison have one type or are both numbers, and null literals occur only where the result is unknown.
 * Unknown (null) spreads through everything but `is_null` and `exists`, and never matches.
 */
export type Expression<F extends TypedField> =
  | { op: "and" | "or"; operands: Array<Expression<F>> }
  | { op: "not"; operand: Expression<F> }
  | { op: Comparison; left: Expression<F>; right: Expression<F> }
  /** Of a JSON field: the path is missing or JSON null. */
  | { op: "is_null"; operand: Expression<F> }
  | { op: "in"; operand: Expression<F>; type: "text"; values: string[] }
  | { op: "in"; operand: Expression<F>; type: "double"; values: number[] }
  /** Of a text or an integer: numbers of which a double cannot hold each. */
  | { op: "in"; operand: Expression<F>; type: "int"; values: bigint[] }
  /** A number in a text against an integer that a double cannot hold. */
  | { op: "integer"; comparison: Comparison; input: Expression<F>; value: bigint }
  | { op: "in"; operand: Expression<F>; type: "bool"; values: boolean[] }
  | { op: "in"; operand: Expression<F>; type: "time"; values: bigint[] }
  | {
      op: "contains";
      input: Expression<F>;
      substr: Expression<F>;
      case_insensitive: boolean;
    }
  | { op: "field"; field: F }
  /** A bigint is an integer that a double cannot hold; it is compared with integers only. */
  | { op: "literal"; value: string | number | boolean | bigint | null }
  | { op: "time"; us: bigint }
  | { op: "convert"; input: Expression<F>; to: CastTarget }
  /** Length of a JSON list; null for anything else. */
  | { op: "size"; input: Expression<F> };

/** Type of the values an expression yields; null for the literal null. */
export function typeOf<F extends TypedField>(expression: Expression<F>): ValueType | null {
  switch (expression.op) {
    case "field":
      return expression.field.type;
    case "time":
      return "time";
    case "size":
      return "int";
    case "literal":
      return literalType(expression.value);
    case "convert":
      return castType[expression.to];
    default:
      return "bool";
  }
}

const castType: Readonly<Record<CastTarget, ValueType>> = {
  double: "double",
  int: "int",
  string: "text",
  bool: "bool",
  exists: "bool",
};

function literalType(value: string | number | boolean | bigint | null): ValueType | null {
  if (value === null) return null;
  if (typeof value === "bigint") return "int";
  if (typeof value === "string") return "text";
  return typeof value === "number" ? "double" : "bool";
}
