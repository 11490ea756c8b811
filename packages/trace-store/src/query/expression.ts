import { typeOf } from "@heddle/trace-model";
import type { CastTarget, Expression, TypedField, ValueType } from "@heddle/trace-model";
import type { StatementSql } from "./statement-sql.js";

/** SQL of the fields of one resource. */
export interface FieldSql<F extends TypedField> {
  /** The value: NULL where a column is absent, '' where a path into JSON leads nowhere. */
  value(field: F): string;
  /** NULL exactly when the field does not exist. */
  presence(field: F): string;
  /** How many items a JSON list has; NULL for anything else. */
  size(field: F): string;
  /** The column of a text, where '' may stand for an absent one; undefined for any other field. */
  textColumn(field: F): string | undefined;
  /**
   * For a field that a row has several of: the list of them, not empty, and the name that the other members call one of
   * them by. A test that holds for one holds for the row; it is unknown when it is unknown for all.
   */
  pieces?(field: F): Pieces | undefined;
}

interface Pieces {
  list: string;
  one: string;
}

const comparisons = { eq: "=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;

/**
 * Compiles a query to a condition over the columns of a table. Values travel as parameters, never as text.
 * Unknown (NULL) spreads as the trace model defines it and never matches.
 */
export function compileQuery<F extends TypedField>(
  sql: StatementSql,
  expression: Expression<F>,
  fields: FieldSql<F>,
): string {
  return new Compiler(sql, fields).condition(expression);
}

class Compiler<F extends TypedField> {
  readonly #sql: StatementSql;
  readonly #fields: FieldSql<F>;
  /** Names of pieces that the expression at hand is inside of. */
  readonly #bound = new Set<string>();

  constructor(sql: StatementSql, fields: FieldSql<F>) {
    this.#sql = sql;
    this.#fields = fields;
  }

  /** A condition in which unknown counts as false: shorter, and indexes of columns apply. */
  condition(e: Expression<F>): string {
    const pieces = isTest(e) ? this.#unboundPieces(e) : [];
    if (pieces.length > 0) return this.#forAny(pieces, e, anyTrue);
    switch (e.op) {
      case "and":
      case "or":
        return `(${e.operands.map((operand) => this.condition(operand)).join(e.op === "and" ? " AND " : " OR ")})`;
      case "eq":
        return this.#columnEquality(e.left, e.right) ?? this.#columnEquality(e.right, e.left) ?? this.value(e);
      case "in": {
        const column = e.type === "text" ? this.#textColumn(e.operand) : undefined;
        const values = e.type === "text" ? e.values.filter((value) => value !== "") : [];
        return column === undefined ? this.#in(e, this.value(e.operand)) : this.#sql.p.in(column, "String", values);
      }
      default:
        return this.value(e);
    }
  }

  /** The value with NULL where it is unknown. */
  value(e: Expression<F>): string {
    const { p } = this.#sql;
    const pieces = isTest(e) ? this.#unboundPieces(e) : [];
    if (pieces.length > 0) return this.#forAny(pieces, e, greatest);
    switch (e.op) {
      case "and":
      case "or":
        return `(${e.operands.map((operand) => this.value(operand)).join(e.op === "and" ? " AND " : " OR ")})`;
      case "not":
        return `(NOT ${this.value(e.operand)})`;
      case "is_null":
        return `isNull(${this.#presence(e.operand)})`;
      case "in": {
        const operand = this.#sql.named(this.value(e.operand));
        return `if(isNull(${operand.first}), NULL, ${this.#in(e, operand.again)})`;
      }
      case "integer":
        return this.#integer(e);
      case "contains":
        return this.#contains(e);
      case "field":
        return this.#fields.value(e.field);
      case "literal":
        return this.#literal(e.value);
      case "time":
        return p.time(e.us);
      case "convert":
        return e.to === "exists" ? `isNotNull(${this.#presence(e.input)})` : this.#convert(e.input, e.to);
      case "size":
        return this.#size(e.input);
      default:
        return `(${this.value(e.left)} ${comparisons[e.op]} ${this.value(e.right)})`;
    }
  }

  /** Lists that the fields inside a test are pieces of. */
  #unboundPieces(e: Expression<F>): Pieces[] {
    if (this.#fields.pieces === undefined) return [];
    const found = new Map<string, Pieces>();
    for (const field of expressionFields(e)) {
      const pieces = this.#fields.pieces(field);
      if (pieces !== undefined && !this.#bound.has(pieces.one)) found.set(pieces.one, pieces);
    }
    return [...found.values()];
  }

  #forAny(pieces: readonly Pieces[], e: Expression<F>, combined: typeof anyTrue): string {
    for (const { one } of pieces) this.#bound.add(one);
    let test = `CAST(${this.value(e)}, 'Nullable(UInt8)')`;
    for (const each of pieces) {
      this.#bound.delete(each.one);
      test = combined(test, each);
    }
    return test;
  }

  #literal(value: string | number | boolean | bigint | null): string {
    if (value === null) return "NULL";
    if (typeof value === "bigint") return this.#sql.p.bind("Int128", value);
    if (typeof value === "boolean") return value ? "true" : "false";
    return this.#sql.p.bind(typeof value === "string" ? "String" : "Float64", value);
  }

  #presence(e: Expression<F>): string {
    return e.op === "field" ? this.#fields.presence(e.field) : this.value(e);
  }

  #size(e: Expression<F>): string {
    return e.op === "field" ? this.#fields.size(e.field) : "CAST(NULL, 'Nullable(UInt64)')";
  }

  /** Of an optional column that is compared with a text: '' means absent, so the column itself is enough. */
  #columnEquality(column: Expression<F>, literal: Expression<F>): string | undefined {
    if (literal.op !== "literal" || typeof literal.value !== "string" || literal.value === "") return undefined;
    const name = this.#textColumn(column);
    return name === undefined ? undefined : `${name} = ${this.#literal(literal.value)}`;
  }

  #textColumn(e: Expression<F>): string | undefined {
    return e.op === "field" ? this.#fields.textColumn(e.field) : undefined;
  }

  #in(e: Extract<Expression<F>, { op: "in" }>, operand: string): string {
    const { p } = this.#sql;
    if (e.type === "text") return p.in(operand, "String", e.values);
    if (e.type === "time") return p.inTimes(operand, e.values);
    if (e.type === "int") return this.#inIntegers(e, operand);
    if (e.type === "double") return p.in(`toFloat64(${operand})`, "Float64", e.values);
    return p.in(operand, "UInt8", e.values.map(Number));
  }

  /** Whole numbers compare as such; what is none, or has more digits than are ever stored, as a double. */
  #integer({ comparison, input, value }: Extract<Expression<F>, { op: "integer" }>): string {
    const { p } = this.#sql;
    const text = this.#sql.named(this.value(input));
    const operator = comparisons[comparison];
    const exact = `toInt128OrNull(${text.first}) ${operator} ${p.bind("Int128", value)}`;
    return `ifNull(${exact}, ${this.#textToDouble(text.again)} ${operator} ${p.bind("Float64", Number(value))})`;
  }

  #inIntegers(e: Extract<Expression<F>, { op: "in"; type: "int" }>, operand: string): string {
    const { p } = this.#sql;
    if (typeOf(e.operand) === "int") return p.in(`toInt128(${operand})`, "Int128", e.values);
    const exact = this.#sql.named(`toInt128OrNull(${operand})`);
    const double = this.#sql.named(this.#textToDouble(operand));
    const inDoubles = `if(isNull(${double.first}), NULL, ${p.in(double.again, "Float64", e.values.map(Number))})`;
    return `if(isNull(${exact.first}), ${inDoubles}, ${p.in(exact.again, "Int128", e.values)})`;
  }

  #contains(e: Extract<Expression<F>, { op: "contains" }>): string {
    const fold = (text: string) => (e.case_insensitive ? `lowerUTF8(${text})` : text);
    const substr = fold(this.value(e.substr));
    // Only an empty text occurs in a missing one.
    if (e.substr.op === "literal" && e.substr.value !== "") {
      return `(position(${fold(this.value(e.input))}, ${substr}) > 0)`;
    }
    const input = this.#sql.named(this.value(e.input));
    return `(position(${fold(input.first)}, ${substr}) > 0 AND ${input.again} != '')`;
  }

  #convert(input: Expression<F>, to: Exclude<CastTarget, "exists">): string {
    const from = typeOf(input);
    const value = this.value(input);
    return from === null || from === typeName[to] ? value : this.#cast(value, from, to);
  }

  #cast(value: string, from: ValueType, to: Exclude<CastTarget, "exists">): string {
    if (from === "time") return fromTime(value, to);
    if (to === "string") return from === "bool" ? fromBool(this.#sql.named(value)) : `toString(${value})`;
    if (to === "bool") return this.#toBool(from === "text" ? value : `toString(${value})`);
    if (from === "text") return to === "double" ? this.#textToDouble(value) : `toInt64OrNull(${value})`;
    if (to === "double" || from === "bool") return `${to === "double" ? "toFloat64" : "toInt64"}(${value})`;
    // A double with a fraction, or beyond 64 bits, is not an integer; the text of a whole one has neither.
    return `toInt64OrNull(toString(${value}))`;
  }

  #textToDouble(value: string): string {
    const number = this.#sql.named(`toFloat64OrNull(${value})`);
    // The engine also reads `nan` and `inf`, which are not numbers of JSON.
    return `if(isFinite(${number.first}), ${number.again}, NULL)`;
  }

  #toBool(value: string): string {
    const text = this.#sql.named(value);
    return `multiIf(${text.first} IN ('true', '1'), true, ${text.again} IN ('false', '0'), false, NULL)`;
  }
}

/** A test of a list of which one has to hold, where unknown counts as false. */
const anyTrue = (test: string, { list, one }: Pieces): string => `arrayExists(${one} -> ifNull(${test}, 0), ${list})`;

/** The same, unknown when it is unknown for all. */
const greatest = (test: string, { list, one }: Pieces): string =>
  `arrayReduce('max', arrayMap(${one} -> ${test}, ${list}))`;

/** Whether the expression asks something of values: what is true or false, but no combination of such. */
function isTest<F extends TypedField>(e: Expression<F>): boolean {
  return typeOf(e) === "bool" && !["and", "or", "not", "field", "literal"].includes(e.op);
}

/** The fields that an expression names, each as often as it does. */
export function expressionFields<F extends TypedField>(e: Expression<F>): F[] {
  switch (e.op) {
    case "field":
      return [e.field];
    case "and":
    case "or":
      return e.operands.flatMap(expressionFields);
    case "not":
    case "is_null":
    case "in":
      return expressionFields(e.operand);
    case "contains":
      return [...expressionFields(e.input), ...expressionFields(e.substr)];
    case "convert":
    case "size":
    case "integer":
      return expressionFields(e.input);
    case "literal":
    case "time":
      return [];
    default:
      return [...expressionFields(e.left), ...expressionFields(e.right)];
  }
}

const typeName = { string: "text", double: "double", int: "int", bool: "bool" } as const;

function fromTime(value: string, to: Exclude<CastTarget, "exists">): string {
  if (to === "bool") return "CAST(NULL, 'Nullable(UInt8)')";
  if (to === "string") return `formatDateTime(${value}, '%Y-%m-%dT%H:%i:%S.%fZ')`;
  const us = `toUnixTimestamp64Micro(${value})`;
  return to === "double" ? `(${us} / 1e6)` : `intDiv(${us}, 1000000)`;
}

function fromBool(value: { first: string; again: string }): string {
  return `if(isNull(${value.first}), NULL, if(${value.again}, 'true', 'false'))`;
}
