import type { Budget } from "./budget.js";
import type { Filter, FilterContext } from "./filter-type.js";
import { listFilters } from "./list-filters.js";
import { countPass } from "./operands.js";
import { numberIn } from "./operators.js";
import { bind, integerArgument } from "./signature.js";
import { TemplateError } from "./template-error.js";
import { textFilters } from "./text-filters.js";
import type { Arguments, Value } from "./values.js";
import { Float, integer, isTrue, typeName } from "./values.js";

const fallback: Filter = (value, args) => {
  const [given, whenFalse] = bind("default", args, ["default_value", "boolean"]);
  const missing = value === undefined || (isTrue(whenFalse) && !isTrue(value));
  return missing ? (args.positional.length > 0 || args.named.has("default_value") ? given : "") : value;
};

function required(name: string, value: Value): number | bigint | Float {
  const number = numberIn(value);
  if (number === undefined) throw new TemplateError(`${name} takes a number, not ${typeName(value)}`);
  return number;
}

const abs: Filter = (value) => {
  const number = required("abs", value);
  if (number instanceof Float) return new Float(Math.abs(number.value));
  return number < 0 ? integer(-BigInt(number)) : number;
};

/** Python refuses to convert longer texts, whose conversion takes more than linear time. */
const mostDigits = 4300;

const int: Filter = (value, args) => {
  const [otherwise, base] = bind("int", args, ["default", "base"]);
  const number = numberIn(value);
  if (number instanceof Float)
    return Number.isFinite(number.value) ? integer(BigInt(Math.trunc(number.value))) : (otherwise ?? 0);
  if (number !== undefined) return number;
  const digits = typeof value === "string" ? value.trim().replaceAll("_", "") : "";
  const text = digits.length > mostDigits ? "" : digits;
  const radix = integerArgument("int", base, 10);
  if (radix !== 10) {
    const parsed = Number.parseInt(text.replace(/^0[xob]/i, ""), radix);
    return Number.isNaN(parsed) ? (otherwise ?? 0) : parsed;
  }
  if (/^[-+]?\d+$/.test(text)) return integer(BigInt(text.replace("+", "")));
  return isDecimal(text) ? integer(BigInt(Math.trunc(Number(text)))) : (otherwise ?? 0);
};

function isDecimal(text: string): boolean {
  return /^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(text) && Number.isFinite(Number(text));
}

const float: Filter = (value, args) => {
  const [otherwise] = bind("float", args, ["default"]);
  const number = numberIn(value);
  if (number !== undefined) return number instanceof Float ? number : new Float(Number(number));
  if (typeof value === "string" && isDecimal(value.trim())) return new Float(Number(value.trim()));
  return otherwise ?? new Float(0);
};

const round: Filter = (value, args) => {
  const [precision, method] = bind("round", args, ["precision", "method"]);
  const number = required("round", value);
  const digits = integerArgument("round", precision, 0);
  const scaled = 10 ** digits;
  const plain = number instanceof Float ? number.value : Number(number);
  if (method === "ceil") return new Float(Math.ceil(plain * scaled) / scaled);
  if (method === "floor") return new Float(Math.floor(plain * scaled) / scaled);
  if (!(number instanceof Float)) return digits >= 0 ? number : new Float(Math.round(plain * scaled) / scaled);
  return new Float(digits >= 0 && digits < 100 ? halfToEven(plain, digits) : Math.round(plain * scaled) / scaled);
};

/** Rounds as Python does: an exact half goes to the even digit. */
function halfToEven(value: number, digits: number): number {
  const exact = value.toFixed(100);
  const end = exact.indexOf(".") + 1 + digits;
  const isHalf = /^50*$/.test(exact.slice(end));
  return isHalf ? (2 * Math.round((value * 10 ** digits) / 2)) / 10 ** digits : Number(value.toFixed(digits));
}

/** The filters of templates, by name. */
export const filters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ...textFilters,
  ...listFilters,
  ["default", fallback],
  ["d", fallback],
  ["abs", abs],
  ["int", int],
  ["float", float],
  ["round", round],
]);

/** Applies a filter of Jinja. */
export function applyFilter(name: string, value: Value, args: Arguments, budget: Budget): Value {
  const filter = filters.get(name);
  if (!filter) throw new TemplateError(`no filter named '${name}'`);
  budget.spend(1);
  countPass([value], budget);
  countPass(args.positional, budget);
  countPass(args.named.values(), budget);
  const context: FilterContext = {
    budget,
    filter: (other, item, inner) => applyFilter(other, item, inner, budget),
  };
  return filter(value, args, context);
}
