import { EngineError } from "../../../engine-error.js";
import { literal, oneOf } from "../ebnf.js";

/** Text is never longer than 15 digits: more would be rounded when it is read, perhaps over a bound. */
const maxDigits = 15;
const largest = 10n ** BigInt(maxDigits) - 1n;
/** Leaves three digits to tell numbers near a bound apart. */
const maxBoundDigits = maxDigits - 3;

export interface Bound {
  value: number;
  exclusive: boolean;
}

/** Decimal digits before and after the point, without zeros at the end; no sign. */
interface Decimal {
  whole: bigint;
  fraction: string;
  exclusive: boolean;
}

/** An expression for the integers between the bounds. Rejects with `invalid` and `path` when there are none. */
export function integerRange(low: Bound | undefined, high: Bound | undefined, path: string): string {
  const from = low ? wholeBound(low, 1, path) : -largest;
  const to = high ? wholeBound(high, -1, path) : largest;
  if (from > to) throw nothingFits(path);
  const options: string[] = [];
  if (from < 0n) options.push(`"-" ${between(to < 0n ? -to : 1n, -from)}`);
  if (to >= 0n) options.push(between(from > 0n ? from : 0n, to));
  return oneOf(options);
}

/** The integer nearest to the bound that satisfies it, looking upwards (`direction` 1) or downwards (-1). */
function wholeBound({ value, exclusive }: Bound, direction: 1 | -1, path: string): bigint {
  const nearest = direction === 1 ? Math.ceil(value) : Math.floor(value);
  if (!(Math.abs(nearest) < 1e15)) throw outOfReach(value, path);
  return BigInt(nearest) + (exclusive && nearest === value ? BigInt(direction) : 0n);
}

/** An expression for the numbers between the bounds, without exponents. Rejects like `integerRange`. */
export function numberRange(low: Bound | undefined, high: Bound | undefined, path: string): string {
  const far = high ?? low;
  const reach = 10 ** (maxBoundDigits - (far ? decimal(far, path).fraction.length : 0)) - 1;
  const from = low ?? { value: -reach, exclusive: false };
  const to = high ?? { value: reach, exclusive: false };
  if (from.value > to.value || (from.value === to.value && (from.exclusive || to.exclusive))) throw nothingFits(path);
  const zero = (exclusive: boolean): Bound => ({ value: 0, exclusive });
  const options: (string | undefined)[] = [];
  if (from.value < 0) {
    const nearer = to.value < 0 ? to : zero(true);
    options.push(minus(magnitudes(decimal(nearer, path), decimal(from, path))));
  }
  if (to.value >= 0) {
    const nearer = from.value >= 0 ? from : zero(false);
    options.push(magnitudes(decimal(nearer, path), decimal(to, path)));
  }
  const possible = options.filter((option) => option !== undefined);
  if (possible.length === 0) throw nothingFits(path);
  return oneOf(possible);
}

const minus = (magnitude: string | undefined) => (magnitude === undefined ? undefined : `"-" ${magnitude}`);

function decimal({ value, exclusive }: Bound, path: string): Decimal {
  if (!(Math.abs(value) < 10 ** maxBoundDigits)) throw outOfReach(value, path);
  const shortest = String(Math.abs(value));
  const text = shortest.includes("e") ? Math.abs(value).toFixed(maxDigits) : shortest;
  const [whole = "0", digits = ""] = text.split(".");
  const fraction = digits.replace(/0+$/, "");
  const tooLong = whole.length + fraction.length > maxBoundDigits || Number(text) !== Math.abs(value);
  if (tooLong) throw outOfReach(value, path);
  return { whole: BigInt(whole), fraction, exclusive };
}

function nothingFits(path: string): EngineError {
  return new EngineError("invalid", "No number fits between the minimum and the maximum.", path);
}

function outOfReach(value: number, path: string): EngineError {
  const reason = `A minimum or maximum may have ${maxBoundDigits} digits; ${value} does not fit.`;
  return new EngineError("invalid", reason, path);
}

/** Numbers without sign from `low` to `high`; undefined when there are none. */
function magnitudes(low: Decimal, high: Decimal): string | undefined {
  const room = maxDigits - String(high.whole).length - Math.max(low.fraction.length, high.fraction.length);
  const rest = `[0-9]{0,${Math.max(1, Math.min(6, room - 2))}}`;
  const options: (string | undefined)[] = [];
  if (low.whole === high.whole) {
    options.push(prefixed(low.whole, fractionBetween(low, high, rest)));
  } else {
    options.push(prefixed(low.whole, fractionFrom(low, rest)));
    if (high.whole - low.whole > 1n) options.push(`${between(low.whole + 1n, high.whole - 1n)} ("." [0-9] ${rest})?`);
    options.push(prefixed(high.whole, fractionUpTo(high, rest)));
  }
  const possible = options.filter((option) => option !== undefined);
  return possible.length === 0 ? undefined : oneOf(possible);
}

function prefixed(whole: bigint, fraction: string | undefined): string | undefined {
  return fraction === undefined ? undefined : `${literal(String(whole))} ${fraction}`;
}

function fractionFrom({ fraction, exclusive }: Decimal, rest: string): string {
  if (fraction === "" && !exclusive) return `("." [0-9] ${rest})?`;
  return `"." ${digitsFrom(fraction, exclusive, rest)}`;
}

function fractionUpTo({ fraction, exclusive }: Decimal, rest: string): string | undefined {
  if (fraction === "") return exclusive ? undefined : '("." "0"{1,6})?';
  return `("." (${digitsUpTo(fraction, exclusive, rest).join(" | ")}))?`;
}

function fractionBetween(low: Decimal, high: Decimal, rest: string): string | undefined {
  const width = Math.max(low.fraction.length, high.fraction.length);
  if (width === 0) return low.exclusive || high.exclusive ? undefined : '("." "0"{1,6})?';
  const from = low.fraction.padEnd(width, "0");
  const to = high.fraction.padEnd(width, "0");
  const options = digitsBetween(from, to, low.exclusive, high.exclusive, rest);
  if (options.length === 0) return undefined;
  const fraction = `"." (${options.join(" | ")})`;
  return low.fraction === "" && !low.exclusive ? `(${fraction})?` : fraction;
}

/** Digits that are, read as a fraction, at least (or more than) the given ones. */
function digitsFrom(digits: string, exclusive: boolean, rest: string): string {
  if (digits === "") return exclusive ? `"0"? [1-9] ${rest}` : rest;
  const [first = "0"] = digits;
  const more = above(first, "9");
  const same = `${literal(first)} ${digitsFrom(digits.slice(1), exclusive, rest)}`;
  return more ? `(${same} | ${more} ${rest})` : `(${same})`;
}

/** At least one digit; together at most (or less than) the given ones, which do not end in zero. */
function digitsUpTo(digits: string, exclusive: boolean, rest: string): string[] {
  const [first = "0"] = digits;
  const options: string[] = [];
  const less = below("0", first);
  if (less) options.push(`${less} ${rest}`);
  if (digits.length === 1) {
    if (!exclusive) options.push(`${literal(first)} "0"{0,3}`);
    return options;
  }
  options.push(`${literal(first)} (${digitsUpTo(digits.slice(1), exclusive, rest).join(" | ")})?`);
  return options;
}

/** Of two runs of equal length. */
function digitsBetween(from: string, to: string, above_: boolean, below_: boolean, rest: string): string[] {
  if (from === "") return above_ || below_ ? [] : ['"0"{0,3}'];
  const [low = "0"] = from;
  const [high = "0"] = to;
  if (low === high) {
    const inner = digitsBetween(from.slice(1), to.slice(1), above_, below_, rest);
    return inner.length === 0 ? [] : [`${literal(low)} (${inner.join(" | ")})`];
  }
  const options = [`${literal(low)} ${digitsFrom(from.slice(1), above_, rest)}`];
  const middle = strictlyBetween(low, high);
  if (middle) options.push(`${middle} ${rest}`);
  const last = to.slice(1).replace(/0+$/, "");
  if (last !== "") options.push(`${literal(high)} (${digitsUpTo(last, below_, rest).join(" | ")})?`);
  else if (!below_) options.push(`${literal(high)} "0"{0,3}`);
  return options;
}

const above = (digit: string, last: string) => digitClass(Number(digit) + 1, Number(last));
const below = (first: string, digit: string) => digitClass(Number(first), Number(digit) - 1);
const strictlyBetween = (low: string, high: string) => digitClass(Number(low) + 1, Number(high) - 1);

function digitClass(first: number, last: number): string | undefined {
  return first > last ? undefined : first === last ? literal(String(first)) : `[${first}-${last}]`;
}

/** Integers from `low` to `high`, both included and not negative. */
function between(low: bigint, high: bigint): string {
  const options: string[] = [];
  for (let length = String(low).length; length <= String(high).length; length++) {
    const first = 10n ** BigInt(length - 1);
    const from = low > first || length === 1 ? low : first;
    const last = 10n ** BigInt(length) - 1n;
    options.push(sameLength(String(from), String(high < last ? high : last)));
  }
  return oneOf(options);
}

function sameLength(from: string, to: string): string {
  const [low = "0"] = from;
  const [high = "0"] = to;
  const rest = from.length - 1;
  const free = rest === 0 ? "" : ` [0-9]{${rest}}`;
  if (rest === 0) return digitClass(Number(low), Number(high)) ?? '""';
  if (low === high) return `${literal(low)} ${sameLength(from.slice(1), to.slice(1))}`;
  const lowest = /^0*$/.test(from.slice(1));
  const highest = /^9*$/.test(to.slice(1));
  const options: string[] = [];
  if (!lowest) options.push(`${literal(low)} ${sameLength(from.slice(1), "9".repeat(rest))}`);
  const middle = digitClass(Number(low) + (lowest ? 0 : 1), Number(high) - (highest ? 0 : 1));
  if (middle) options.push(`${middle}${free}`);
  if (!highest) options.push(`${literal(high)} ${sameLength("0".repeat(rest), to.slice(1))}`);
  return oneOf(options);
}
