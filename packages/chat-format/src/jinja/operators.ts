import { TemplateLimitError } from "../template-limits.js";
import type { Budget } from "./budget.js";
import { compareText, toText } from "./python-text.js";
import { formatPercent } from "./python-format.js";
import type { BinaryOperator, Comparison } from "./syntax.js";
import { TemplateError } from "./template-error.js";
import { TextSearch, searchWeight } from "./text-search.js";
import type { Value } from "./values.js";
import { Float, Tuple, dictKey, integer, itemsOf, typeName } from "./values.js";

/** Returns the number in a value, or undefined. Booleans are numbers in Python. */
export function numberIn(value: Value): number | bigint | Float | undefined {
  if (typeof value === "number" || typeof value === "bigint" || value instanceof Float) return value;
  return typeof value === "boolean" ? Number(value) : undefined;
}

function toFloat(value: number | bigint | Float): number {
  return value instanceof Float ? value.value : Number(value);
}

export function binary(operator: BinaryOperator, left: Value, right: Value, budget: Budget): Value {
  const [a, b] = [numberIn(left), numberIn(right)];
  if (a !== undefined && b !== undefined) return arithmetic(operator, a, b, budget);
  if (operator === "+") {
    if (typeof left === "string" && typeof right === "string") return concatenated([left, right], budget);
    if (Array.isArray(left) && Array.isArray(right)) return repeated([left, right], budget);
    if (left instanceof Tuple && right instanceof Tuple) return new Tuple(repeated([left.items, right.items], budget));
    if (typeof left === "string" && right !== undefined) {
      throw new TemplateError(`can only concatenate str (not "${typeName(right)}") to str`);
    }
  }
  if (operator === "*") {
    const product = multiplySequence(left, right, budget) ?? multiplySequence(right, left, budget);
    if (product !== undefined) return product;
  }
  if (operator === "%" && typeof left === "string") return formatPercent(left, right, budget);
  throw new TemplateError(`unsupported operand types for ${operator}: '${typeName(left)}' and '${typeName(right)}'`);
}

function repeated(lists: readonly (readonly Value[])[], budget: Budget): Value[] {
  budget.makeItems(lists.reduce((sum, list) => sum + list.length, 0));
  return lists.flat();
}

function multiplySequence(sequence: Value, times: Value, budget: Budget): Value {
  if (typeof times !== "number" && typeof times !== "boolean") return undefined;
  const count = Math.max(0, Number(times));
  if (typeof sequence === "string") {
    budget.make(sequence.length * count);
    return sequence.repeat(sequence === "" ? 0 : count);
  }
  const items = Array.isArray(sequence) ? sequence : sequence instanceof Tuple ? sequence.items : undefined;
  if (!items) return undefined;
  budget.checkItems(items.length * count);
  const copies = repeated(
    Array.from({ length: items.length === 0 ? 0 : count }, () => items),
    budget,
  );
  return Array.isArray(sequence) ? copies : new Tuple(copies);
}

function arithmetic(
  operator: BinaryOperator,
  a: number | bigint | Float,
  b: number | bigint | Float,
  budget: Budget,
): Value {
  if (typeof a === "number" && typeof b === "number" && (operator === "+" || operator === "-")) {
    const result = operator === "+" ? a + b : a - b;
    if (Number.isSafeInteger(result)) return result;
  }
  if (["/", "//", "%"].includes(operator) && toFloat(b) === 0) throw new TemplateError("division by zero");
  if (operator === "/" || a instanceof Float || b instanceof Float)
    return floatArithmetic(operator, toFloat(a), toFloat(b));
  if (operator === "**" && b < 0) return new Float(Number(a) ** Number(b));
  const [x, y] = [BigInt(a), BigInt(b)];
  const size = operator === "**" ? bits(x) * Number(y) : bits(x) + bits(y);
  budget.integers(size);
  if (size > maxBits) throw new TemplateLimitError(`integers of more than ${maxBits} bits`);
  return integer(integerArithmetic(operator, x, y));
}

const maxBits = 1 << 14;

function bits(value: bigint): number {
  return value.toString(16).length * 4;
}

function floatArithmetic(operator: BinaryOperator, x: number, y: number): Float {
  switch (operator) {
    case "+":
      return new Float(x + y);
    case "-":
      return new Float(x - y);
    case "*":
      return new Float(x * y);
    case "/":
      return new Float(x / y);
    case "//":
      return new Float(Math.floor(x / y));
    case "%": {
      const rest = x % y;
      return new Float(rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest);
    }
    default:
      return new Float(x ** y);
  }
}

function integerArithmetic(operator: BinaryOperator, x: bigint, y: bigint): bigint {
  switch (operator) {
    case "+":
      return x + y;
    case "-":
      return x - y;
    case "*":
      return x * y;
    case "**":
      return x ** y;
    default: {
      const rest = x % y;
      const wraps = rest !== 0n && rest < 0n !== y < 0n;
      if (operator === "%") return wraps ? rest + y : rest;
      return wraps ? x / y - 1n : x / y;
    }
  }
}

export function negative(value: Value): Value {
  const number = numberIn(value);
  if (number === undefined) throw new TemplateError(`bad operand type for unary -: '${typeName(value)}'`);
  return number instanceof Float ? new Float(-number.value) : integer(-BigInt(number));
}

export function equal(a: Value, b: Value, budget: Budget): boolean {
  budget.spend(0.25);
  if (typeof a === "string" && typeof b === "string" && a.length === b.length) budget.read(a.length);
  if (a === b) return true;
  const [x, y] = [numberIn(a), numberIn(b)];
  // JavaScript compares a number and a bigint by value; `===` would not.
  if (x !== undefined && y !== undefined) return toComparable(x) == toComparable(y); // oxlint-disable-line eqeqeq
  const [left, right] = [sequenceIn(a), sequenceIn(b)];
  if (left && right) {
    if (Array.isArray(a) !== Array.isArray(b) || left.length !== right.length) return false;
    return budget.nest(() => left.every((item, at) => equal(item, right[at], budget)));
  }
  if (!(a instanceof Map) || !(b instanceof Map) || a.size !== b.size) return false;
  return budget.nest(() => [...a].every(([key, item]) => b.has(key) && equal(item, b.get(key), budget)));
}

function toComparable(value: number | bigint | Float): number | bigint {
  return value instanceof Float ? value.value : value;
}

function sequenceIn(value: Value): readonly Value[] | undefined {
  if (Array.isArray(value)) return value;
  return value instanceof Tuple ? value.items : undefined;
}

/** Compares two values of which one is less. Throws for values without an order. */
export function order(a: Value, b: Value, budget: Budget): number {
  budget.spend(0.25);
  if (typeof a === "string" && typeof b === "string") return compareText(a, b, budget);
  const [x, y] = [numberIn(a), numberIn(b)];
  if (x !== undefined && y !== undefined) {
    const [left, right] = [toComparable(x), toComparable(y)];
    return left < right ? -1 : left > right ? 1 : 0;
  }
  const [left, right] = [sequenceIn(a), sequenceIn(b)];
  if (!left || !right || Array.isArray(a) !== Array.isArray(b)) {
    throw new TemplateError(`'<' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`);
  }
  return budget.nest(() => {
    const at = left.findIndex((item, index) => index < right.length && !equal(item, right[index], budget));
    return at < 0 ? left.length - right.length : order(left[at], right[at], budget);
  });
}

export function contains(container: Value, item: Value, budget: Budget): boolean {
  if (typeof container === "string") {
    if (typeof item !== "string") {
      throw new TemplateError(`'in <string>' requires string as left operand, not ${typeName(item)}`);
    }
    budget.read(container.length + item.length, searchWeight);
    return new TextSearch(item).next(container) >= 0;
  }
  if (container instanceof Map) return container.has(dictKey(item, budget));
  const items = itemsOf(container, budget);
  if (!items) throw new TemplateError(`argument of type '${typeName(container)}' is not iterable`);
  return items.some((each) => equal(each, item, budget));
}

export function compare(operator: Comparison, left: Value, right: Value, budget: Budget): boolean {
  switch (operator) {
    case "==":
      return equal(left, right, budget);
    case "!=":
      return !equal(left, right, budget);
    case "in":
      return contains(right, left, budget);
    case "not in":
      return !contains(right, left, budget);
    case "<":
      return order(left, right, budget) < 0;
    case "<=":
      return order(left, right, budget) <= 0;
    case ">":
      return order(left, right, budget) > 0;
    default:
      return order(left, right, budget) >= 0;
  }
}

export function concatenated(values: readonly Value[], budget: Budget): string {
  const pieces = values.map((value) => toText(value, budget));
  budget.make(pieces.reduce((sum, piece) => sum + piece.length, 0));
  return pieces.join("");
}
