import type { GrammarBuilder } from "../ebnf.js";
import { alternation } from "../alternation.js";
import { literal } from "../ebnf.js";
import { automatonExpression } from "../regex/automaton.js";
import { textWriter } from "../regex/character-writer.js";
import type { Term } from "../regex/terms.js";
import { Terms } from "../regex/terms.js";
import { invalidSchema, schemaLoc } from "./keywords.js";
import type { Bound } from "./number-range.js";
import { emptyRange, integersBetween } from "./number-range.js";

/** What a number has to be a multiple of, with the pointer of its keyword. */
export interface Factor {
  value: number;
  pointer: string;
}

/** So many multiples are listed. */
const maxListed = 500;
/** Remainders that digits are followed with. */
const maxRemainders = 64;

/** Writes the multiples of a number between two bounds. Throws `invalid` for those that digits cannot tell. */
export function multiplesOf(
  factor: Factor,
  low: Bound | undefined,
  high: Bound | undefined,
  builder: GrammarBuilder,
): string {
  const { value, pointer } = factor;
  let zeros = 0;
  let step = value;
  for (; step % 10 === 0; step /= 10) zeros++;
  if (!Number.isInteger(step) || step > maxRemainders) return listed(factor, low, high, builder);
  const [from, to] = integersBetween(low, high, schemaLoc(pointer));
  const scale = 10n ** BigInt(zeros);
  const write = (least: bigint, most: bigint): string | undefined => {
    const [first, last] = [(least + scale - 1n) / scale, most / scale];
    return first > last ? undefined : digits(first, last, step, builder);
  };
  const end = zeros === 0 ? "" : ` ${literal("0".repeat(zeros))}`;
  const options: string[] = [];
  const negative = from < 0n ? write(to < 0n ? -to : 1n, -from) : undefined;
  if (negative) options.push(`"-" ${negative}${end}`);
  if (from <= 0n && to >= 0n) options.push('"0"');
  const positive = to > 0n ? write(from > 0n ? from : 1n, to) : undefined;
  if (positive) options.push(`${positive}${end}`);
  if (options.length === 0) throw emptyRange(schemaLoc(pointer));
  return alternation(options);
}

/** Writes a list of the multiples. Those that a reader's division misses are left out. */
function listed(
  { value, pointer }: Factor,
  low: Bound | undefined,
  high: Bound | undefined,
  builder: GrammarBuilder,
): string {
  if (!low || !high || !((high.value - low.value) / value < maxListed)) {
    const reason = `multipleOf is a fraction or above ${maxRemainders}, so that it needs bounds with`;
    throw invalidSchema(pointer, `${reason} at most ${maxListed} multiples between them`);
  }
  const places = /\.(\d+)$/.exec(String(value))?.[1]?.length ?? 0;
  const terms = new Terms();
  const multiples: Term[] = [];
  for (let times = Math.ceil(low.value / value) - 1; times <= Math.floor(high.value / value) + 1; times++) {
    const digits = Math.abs(times * value).toFixed(places);
    const text = times < 0 ? `-${digits}` : digits;
    const multiple = Number(text);
    const above = low.exclusive ? multiple > low.value : multiple >= low.value;
    const below = high.exclusive ? multiple < high.value : multiple <= high.value;
    if (above && below && Number.isInteger(multiple / value)) multiples.push(terms.text(text));
  }
  // The library confuses the beginnings of texts in an alternation of hundreds.
  const loc = schemaLoc(pointer);
  const expression = automatonExpression(terms.either(multiples), terms, builder, textWriter(builder), loc);
  if (expression === undefined) throw emptyRange(loc);
  return expression;
}

/** Writes the digits, without leading zeros, of the multiples of `step` from `first` (1 or more) to `last`. */
function digits(first: bigint, last: bigint, step: number, builder: GrammarBuilder): string | undefined {
  const options: string[] = [];
  const [low, high] = [String(first), String(last)];
  for (let length = low.length; length <= high.length; length++) {
    const from = length === low.length ? low : `1${"0".repeat(length - 1)}`;
    const to = length === high.length ? high : "9".repeat(length);
    const names = new Map<string, string | undefined>();
    const rest = (at: number, remainder: number, atLow: boolean, atHigh: boolean): string | undefined => {
      if (at === length) return remainder === 0 ? '""' : undefined;
      const key = [at, remainder, atLow, atHigh].join(" ");
      if (names.has(key)) return names.get(key);
      const [least, most] = [atLow ? Number(from[at]) : 0, atHigh ? Number(to[at]) : 9];
      const followed: string[] = [];
      for (let digit = least; digit <= most; digit++) {
        const next = rest(at + 1, (remainder * 10 + digit) % step, atLow && digit === least, atHigh && digit === most);
        if (next !== undefined) followed.push(next === '""' ? `"${digit}"` : `"${digit}" ${next}`);
      }
      const name = followed.length === 0 ? undefined : builder.rule(followed.join(" | "));
      names.set(key, name);
      return name;
    };
    const rule = rest(0, 0, true, true);
    if (rule !== undefined) options.push(rule);
  }
  return options.length === 0 ? undefined : alternation(options);
}
