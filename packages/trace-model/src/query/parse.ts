import { HeddleError, Mistakes, withLoc } from "@heddle/errors";
import type { Loc } from "@heddle/errors";
import { limits } from "@heddle/spec/tracing-limits";
import { characterCount } from "@heddle/exact-json";
import { cast, compare, unknown, within } from "./cast.js";
import { anySpelling } from "./any-spelling.js";
import { typeOf } from "./expression.js";
import type { CastTarget, Expression, TypedField } from "./expression.js";

/**
 * Reads a field path of the queried resource. Throws `unprocessable` with an empty loc for one that cannot be queried.
 */
export type FieldParser<F extends TypedField> = (path: string) => F;

const { nesting, operators: maxOperators, characters } = limits.Query;

/**
 * Reads `{"$expr": …}` into an expression with every implied cast spelled out. Throws `invalid` when the query is not
 * one, `unprocessable` when it names fields that cannot be queried, or compares times with what is none, all at once; their
 * loc begins with `query`.
 */
export function parseQuery<F extends TypedField>(query: unknown, parseField: FieldParser<F>): Expression<F> {
  const loc = ["query"];
  const root = objectAt(query, loc);
  const keys = Object.keys(root);
  if (keys.length !== 1 || keys[0] !== "$expr") {
    throw new HeddleError("invalid", "a query is an object with the one key $expr", { loc });
  }
  const at = [...loc, "$expr"];
  const [operator] = soleEntry(root.$expr, at);
  if (["$literal", "$getField", "$convert", "$size"].includes(operator)) {
    throw new HeddleError("invalid", `a query needs a condition, not a bare ${operator}`, { loc: at });
  }
  const parser = new QueryParser(parseField);
  const expression = parser.mistakes.attempt(() => parser.operand(root.$expr, at)) ?? unknown;
  parser.mistakes.throwAll();
  return expression;
}

class QueryParser<F extends TypedField> {
  /** Of single fields and literals: what is around them is read on. */
  readonly mistakes = new Mistakes();
  readonly #parseField: FieldParser<F>;
  #depth = 0;
  /** Operators of the expression, each counted as often as it will be evaluated. */
  #operators = 0;
  #characters = 0;

  constructor(parseField: FieldParser<F>) {
    this.#parseField = parseField;
  }

  operand(value: unknown, loc: Loc): Expression<F> {
    if (++this.#depth > nesting) {
      throw new HeddleError("invalid", `the query nests more than ${nesting} operators`, { loc });
    }
    this.#count(1, loc);
    const [operator, content] = soleEntry(value, loc);
    const result = this.#operation(operator, content, [...loc, operator]);
    this.#depth--;
    return result;
  }

  #count(operators: number, loc: Loc): void {
    this.#operators += operators;
    if (this.#operators > maxOperators) {
      throw new HeddleError("invalid", `the query has more than ${maxOperators} operators`, { loc });
    }
  }

  #read(text: string, loc: Loc): string {
    this.#characters += characterCount(text);
    if (this.#characters > characters) {
      throw new HeddleError("invalid", `the fields and literals of the query have more than ${characters} characters`, {
        loc,
      });
    }
    return text;
  }

  #field(path: string, loc: Loc): Expression<F> {
    this.#read(path, loc);
    const field = this.mistakes.attempt(() => withLoc(loc, () => this.#parseField(path)));
    return field === undefined ? unknown : { op: "field", field };
  }

  #tested(loc: Loc, test: () => Expression<F>): Expression<F> {
    return anySpelling(this.mistakes.attempt(() => withLoc(loc, test)) ?? unknown);
  }

  #literal(value: unknown, loc: Loc): Extract<Expression<F>, { op: "literal" }> {
    const literal = literalAt(value);
    this.#read(String(literal), loc);
    return { op: "literal", value: literal };
  }

  #operation(operator: string, content: unknown, loc: Loc): Expression<F> {
    switch (operator) {
      case "$and":
      case "$or":
        return this.#junction(operator === "$and" ? "and" : "or", content, loc);
      case "$not": {
        const [operand] = this.#operands(content, loc, 1);
        return { op: "not", operand: cast(operand ?? unknown, "bool") };
      }
      case "$eq":
      case "$gt":
      case "$gte":
      case "$lt":
      case "$lte": {
        const [left = unknown, right = unknown] = this.#operands(content, loc, 2);
        return this.#tested(loc, () => compare(comparisons[operator], left, right));
      }
      case "$in":
        return this.#in(content, loc);
      case "$contains":
        return this.#contains(content, loc);
      case "$literal":
        return this.#literal(content, loc);
      case "$getField":
        if (typeof content !== "string") throw new HeddleError("invalid", "$getField needs a path", { loc });
        return this.#field(content, loc);
      case "$convert":
        return this.#convert(content, loc);
      case "$size":
        return { op: "size", input: this.operand(content, loc) };
      default:
        throw new HeddleError("invalid", `there is no operator ${operator}`, { loc });
    }
  }

  #junction(op: "and" | "or", content: unknown, loc: Loc): Expression<F> {
    const operands = this.#operands(content, loc).map((operand) => cast(operand, "bool"));
    const [first] = operands;
    if (!first) throw new HeddleError("invalid", "the list of conditions is empty", { loc });
    return operands.length === 1 ? first : { op, operands };
  }

  #operands(content: unknown, loc: Loc, length?: number): Array<Expression<F>> {
    const list = listAt(content, loc);
    if (length !== undefined && list.length !== length) {
      throw new HeddleError("invalid", `expected a list of ${length}, got ${list.length}`, { loc });
    }
    return list.map((item, index) => this.operand(item, [...loc, index]));
  }

  #in(content: unknown, loc: Loc): Expression<F> {
    const list = listAt(content, loc);
    if (list.length !== 2) throw new HeddleError("invalid", "$in needs an operand and a list", { loc });
    const before = this.#operators;
    const operand = this.operand(list[0], [...loc, 0]);
    const size = this.#operators - before;
    const items = this.#listItems(list[1], [...loc, 1]).filter((item) => typeOf(item) !== null);
    const values: Array<string | number | boolean | bigint> = [];
    for (const item of items) {
      if (item.op === "literal" && item.value !== null) values.push(item.value);
    }
    if (values.length < items.length) {
      // The operand is compared with each item: lists inside lists would grow without bound.
      this.#count(size * (items.length - 1), loc);
      return { op: "or", operands: items.map((item) => this.#tested(loc, () => compare("eq", operand, item))) };
    }
    const types = new Set(values.map((value) => (typeof value === "bigint" ? "number" : typeof value)));
    if (types.size > 1 && typeOf(operand) !== "time") {
      throw new HeddleError("invalid", "the values of $in have no common type", { loc: [...loc, 1] });
    }
    return values.length === 0 ? { op: "literal", value: false } : this.#tested(loc, () => within(operand, values));
  }

  /** Literals of a list are passed as one value and do not count as operators. */
  #listItems(content: unknown, loc: Loc): Array<Expression<F>> {
    return listAt(content, loc).map((item, index) => {
      const at = [...loc, index];
      const [operator, value] = soleEntry(item, at);
      return operator === "$literal" ? this.#literal(value, at) : this.operand(item, at);
    });
  }

  #contains(content: unknown, loc: Loc): Expression<F> {
    const { input, substr, case_insensitive, ...rest } = objectAt(content, loc);
    refuseKeys(rest, loc);
    if (typeof (case_insensitive ?? false) !== "boolean") {
      throw new HeddleError("invalid", "case_insensitive must be true or false", { loc });
    }
    return {
      op: "contains",
      input: cast(this.operand(input, [...loc, "input"]), "text"),
      substr: cast(this.operand(substr, [...loc, "substr"]), "text"),
      case_insensitive: case_insensitive === true,
    };
  }

  #convert(content: unknown, loc: Loc): Expression<F> {
    const { input, to, ...rest } = objectAt(content, loc);
    refuseKeys(rest, loc);
    if (!isCastTarget(to)) {
      throw new HeddleError("invalid", "to must be double, string, int, bool or exists", { loc });
    }
    return { op: "convert", input: this.operand(input, [...loc, "input"]), to };
  }
}

const comparisons = { $eq: "eq", $gt: "gt", $gte: "gte", $lt: "lt", $lte: "lte" } as const;

function isCastTarget(value: unknown): value is CastTarget {
  return value === "double" || value === "string" || value === "int" || value === "bool" || value === "exists";
}

/** Lists and maps compare by their JSON text, as the fields that hold such values read. */
function literalAt(value: unknown): string | number | boolean | bigint | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "bigint") return isStoredInteger(value) ? value : Number(value);
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  return JSON.stringify(value);
}

/** Whether the store keeps the integer as it is, and a double would not. */
function isStoredInteger(value: bigint): boolean {
  return value >= -(2n ** 63n) && value < 2n ** 64n && !Number.isSafeInteger(Number(value));
}

function objectAt(value: unknown, loc: Loc): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new HeddleError("invalid", "expected an object", { loc });
  }
  return value as Record<string, unknown>;
}

function listAt(value: unknown, loc: Loc): unknown[] {
  if (!Array.isArray(value)) throw new HeddleError("invalid", "expected a list", { loc });
  return value;
}

function soleEntry(value: unknown, loc: Loc): [string, unknown] {
  const [entry, ...others] = Object.entries(objectAt(value, loc));
  if (!entry || others.length > 0) {
    throw new HeddleError("invalid", "expected an object with exactly one operator", { loc });
  }
  return entry;
}

function refuseKeys(rest: Record<string, unknown>, loc: Loc): void {
  const [key] = Object.keys(rest);
  if (key !== undefined) throw new HeddleError("invalid", `unknown key ${key}`, { loc: [...loc, key] });
}
