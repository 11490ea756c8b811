import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import { alternation } from "../alternation.js";
import { literal } from "../ebnf.js";

/** Maximum digits of a number: more could be rounded across a bound by the reader. */
const maxDigits = 15;
/** Readers round integers beyond it. */
const maxInteger = BigInt(Number.MAX_SAFE_INTEGER);
/** Maximum digits of a bound, which leaves three digits for numbers near it. */
const maxBoundDigits = maxDigits - 3;

export interface Bound {
  value: number;
  exclusive: boolean;
}

/** An unsigned decimal number: digits before and after the point, without trailing zeros. */
interface Decimal {
  integerPart: bigint;
  fraction: string;
  exclusive: boolean;
}

/** Returns an expression for the integers between the bounds. Throws `invalid` with `loc` if there are none. */
export function integerRange(low: Bound | undefined, high: Bound | undefined, loc: Loc): string {
  const [from, to] = integersBetween(low, high, loc);
  const options: string[] = [];
  if (from < 0n) options.push(`"-" ${between(to < 0n ? -to : 1n, -from)}`);
  if (to >= 0n) options.push(between(from > 0n ? from : 0n, to));
  return alternation(options);
}

/** Returns the least and greatest integer between the bounds that no reader rounds. Throws like `integerRange`. */
export function integersBetween(low: Bound | undefined, high: Bound | undefined, loc: Loc): [bigint, bigint] {
  const from = low ? integerBound(low, 1) : -maxInteger;
  const to = high ? integerBound(high, -1) : maxInteger;
  if (from > to || from > maxInteger || to < -maxInteger) throw emptyRange(loc);
  return [from < -maxInteger ? -maxInteger : from, to > maxInteger ? maxInteger : to];
}

/** Returns the integer nearest to the bound that satisfies it, upwards (`direction` 1) or downwards (-1). */
function integerBound({ value, exclusive }: Bound, direction: 1 | -1): bigint {
  const nearest = direction === 1 ? Math.ceil(value) : Math.floor(value);
  return BigInt(nearest) + (exclusive && nearest === value ? BigInt(direction) : 0n);
}

/**
 * Returns an expression for the numbers between the bounds, without exponents. A bound with more digits than can be
 * followed is replaced by a tighter one. Throws like `integerRange`.
 */
export function numberRange(lowest: Bound | undefined, highest: Bound | undefined, loc: Loc): string {
  const low = lowest && shorter(lowest, 1);
  const high = highest && shorter(highest, -1);
  const widest = high ?? low;
  const limit = 10 ** (maxBoundDigits - (widest ? decimal(widest, loc).fraction.length : 0)) - 1;
  const from = low ?? { value: -limit, exclusive: false };
  const to = high ?? { value: limit, exclusive: false };
  if (from.value > to.value || (from.value === to.value && (from.exclusive || to.exclusive))) throw emptyRange(loc);
  const zero = (exclusive: boolean): Bound => ({ value: 0, exclusive });
  const options: (string | undefined)[] = [];
  if (from.value < 0) {
    const inner = to.value < 0 ? to : zero(true);
    options.push(minus(magnitudes(decimal(inner, loc), decimal(from, loc))));
  }
  if (to.value >= 0) {
    const inner = from.value >= 0 ? from : zero(false);
    options.push(magnitudes(decimal(inner, loc), decimal(to, loc)));
  }
  const possible = options.filter((option) => option !== undefined);
  if (possible.length === 0) throw emptyRange(loc);
  return alternation(possible);
}

/** Rounds a long bound inwards: up for lower bounds (`direction` 1), down for upper ones (-1). */
function shorter(bound: Bound, direction: 1 | -1): Bound | undefined {
  const { value } = bound;
  const limit = 10 ** maxBoundDigits;
  if (Math.abs(value) >= limit) return Math.sign(value) === direction ? bound : undefined;
  const places = maxBoundDigits - String(Math.trunc(Math.abs(value))).length;
  if (Number(value.toFixed(places)) === value) return bound;
  const rounded = Number(value.toFixed(places));
  const inside = direction === 1 ? rounded > value : rounded < value;
  return { value: inside ? rounded : Number((rounded + direction * 10 ** -places).toFixed(places)), exclusive: false };
}

const minus = (magnitude: string | undefined) => (magnitude === undefined ? undefined : `"-" ${magnitude}`);

function decimal({ value, exclusive }: Bound, loc: Loc): Decimal {
  if (!(Math.abs(value) < 10 ** maxBoundDigits)) throw boundTooLong(value, loc);
  const shortest = String(Math.abs(value));
  const text = shortest.includes("e") ? Math.abs(value).toFixed(maxDigits) : shortest;
  const [integerPart = "0", digits = ""] = text.split(".");
  const fraction = digits.replace(/(?<!0)0+$/, "");
  const tooLong = integerPart.length + fraction.length > maxBoundDigits || Number(text) !== Math.abs(value);
  if (tooLong) throw boundTooLong(value, loc);
  return { integerPart: BigInt(integerPart), fraction, exclusive };
}

export function emptyRange(loc: Loc): HeddleError {
  return new HeddleError("invalid", "No number fits between the minimum and the maximum.", { loc });
}

function boundTooLong(value: number, loc: Loc): HeddleError {
  const reason = `A minimum or maximum may have ${maxBoundDigits} digits; ${value} does not fit.`;
  return new HeddleError("invalid", reason, { loc });
}

/** Returns an expression for unsigned numbers from `low` to `high`, or undefined if there are none. */
function magnitudes(low: Decimal, high: Decimal): string | undefined {
  const spareDigits = maxDigits - String(high.integerPart).length - Math.max(low.fraction.length, high.fraction.length);
  const moreDigits = `[0-9]{0,${Math.max(1, Math.min(6, spareDigits - 2))}}`;
  const options: (string | undefined)[] = [];
  if (low.integerPart === high.integerPart) {
    options.push(prefixed(low.integerPart, fractionBetween(low, high, moreDigits)));
  } else {
    options.push(prefixed(low.integerPart, fractionFrom(low, moreDigits)));
    if (high.integerPart - low.integerPart > 1n)
      options.push(`${between(low.integerPart + 1n, high.integerPart - 1n)} ("." [0-9] ${moreDigits})?`);
    options.push(prefixed(high.integerPart, fractionUpTo(high, moreDigits)));
  }
  const possible = options.filter((option) => option !== undefined);
  return possible.length === 0 ? undefined : alternation(possible);
}

function prefixed(integerPart: bigint, fraction: string | undefined): string | undefined {
  return fraction === undefined ? undefined : `${literal(String(integerPart))} ${fraction}`;
}

function fractionFrom({ fraction, exclusive }: Decimal, moreDigits: string): string {
  if (fraction === "" && !exclusive) return `("." [0-9] ${moreDigits})?`;
  return `"." ${digitsFrom(fraction, exclusive, moreDigits)}`;
}

function fractionUpTo({ fraction, exclusive }: Decimal, moreDigits: string): string | undefined {
  if (fraction === "") return exclusive ? undefined : '("." "0"{1,6})?';
  return `("." (${digitsUpTo(fraction, exclusive, moreDigits).join(" | ")}))?`;
}

function fractionBetween(low: Decimal, high: Decimal, moreDigits: string): string | undefined {
  const width = Math.max(low.fraction.length, high.fraction.length);
  if (width === 0) return low.exclusive || high.exclusive ? undefined : '("." "0"{1,6})?';
  const from = low.fraction.padEnd(width, "0");
  const to = high.fraction.padEnd(width, "0");
  const options = digitsBetween(from, to, low.exclusive, high.exclusive, moreDigits);
  if (options.length === 0) return undefined;
  const fraction = `"." (${options.join(" | ")})`;
  return low.fraction === "" && !low.exclusive ? `(${fraction})?` : fraction;
}

/** Returns an expression for fraction digits at least, or above, the given ones. */
function digitsFrom(digits: string, exclusive: boolean, moreDigits: string): string {
  if (digits === "") return exclusive ? `"0"? [1-9] ${moreDigits}` : moreDigits;
  const [first = "0"] = digits;
  const more = above(first, "9");
  const same = `${literal(first)} ${digitsFrom(digits.slice(1), exclusive, moreDigits)}`;
  return more ? `(${same} | ${more} ${moreDigits})` : `(${same})`;
}

/** Returns expressions for one or more fraction digits at most, or below, the given ones, which do not end in zero. */
function digitsUpTo(digits: string, exclusive: boolean, moreDigits: string): string[] {
  const [first = "0"] = digits;
  const options: string[] = [];
  const less = below("0", first);
  if (less) options.push(`${less} ${moreDigits}`);
  if (digits.length === 1) {
    if (!exclusive) options.push(`${literal(first)} "0"{0,3}`);
    return options;
  }
  options.push(`${literal(first)} (${digitsUpTo(digits.slice(1), exclusive, moreDigits).join(" | ")})?`);
  return options;
}

/** Returns expressions for fraction digits between two digit strings of equal length. */
function digitsBetween(
  from: string,
  to: string,
  lowExclusive: boolean,
  highExclusive: boolean,
  moreDigits: string,
): string[] {
  if (from === "") return lowExclusive || highExclusive ? [] : ['"0"{0,3}'];
  const [low = "0"] = from;
  const [high = "0"] = to;
  if (low === high) {
    const inner = digitsBetween(from.slice(1), to.slice(1), lowExclusive, highExclusive, moreDigits);
    return inner.length === 0 ? [] : [`${literal(low)} (${inner.join(" | ")})`];
  }
  const options = [`${literal(low)} ${digitsFrom(from.slice(1), lowExclusive, moreDigits)}`];
  const middle = strictlyBetween(low, high);
  if (middle) options.push(`${middle} ${moreDigits}`);
  const last = to.slice(1).replace(/(?<!0)0+$/, "");
  if (last !== "") options.push(`${literal(high)} (${digitsUpTo(last, highExclusive, moreDigits).join(" | ")})?`);
  else if (!highExclusive) options.push(`${literal(high)} "0"{0,3}`);
  return options;
}

const above = (digit: string, last: string) => digitClass(Number(digit) + 1, Number(last));
const below = (first: string, digit: string) => digitClass(Number(first), Number(digit) - 1);
const strictlyBetween = (low: string, high: string) => digitClass(Number(low) + 1, Number(high) - 1);

function digitClass(first: number, last: number): string | undefined {
  return first > last ? undefined : first === last ? literal(String(first)) : `[${first}-${last}]`;
}

/** Returns an expression for the non-negative integers from `low` to `high`, both included. */
function between(low: bigint, high: bigint): string {
  const options: string[] = [];
  for (let length = String(low).length; length <= String(high).length; length++) {
    const first = 10n ** BigInt(length - 1);
    const from = low > first || length === 1 ? low : first;
    const last = 10n ** BigInt(length) - 1n;
    options.push(sameLength(String(from), String(high < last ? high : last)));
  }
  return alternation(options);
}

function sameLength(from: string, to: string): string {
  const [low = "0"] = from;
  const [high = "0"] = to;
  const moreDigits = from.length - 1;
  const free = moreDigits === 0 ? "" : ` [0-9]{${moreDigits}}`;
  if (moreDigits === 0) return digitClass(Number(low), Number(high)) ?? '""';
  if (low === high) return `${literal(low)} ${sameLength(from.slice(1), to.slice(1))}`;
  const lowest = /^0*$/.test(from.slice(1));
  const highest = /^9*$/.test(to.slice(1));
  const options: string[] = [];
  if (!lowest) options.push(`${literal(low)} ${sameLength(from.slice(1), "9".repeat(moreDigits))}`);
  const middle = digitClass(Number(low) + (lowest ? 0 : 1), Number(high) - (highest ? 0 : 1));
  if (middle) options.push(`${middle}${free}`);
  if (!highest) options.push(`${literal(high)} ${sameLength("0".repeat(moreDigits), to.slice(1))}`);
  return alternation(options);
}
