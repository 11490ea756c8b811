import type { Budget } from "./budget.js";
import { TextSearch, searchWeight } from "./text-search.js";
import { hasSurrogates } from "./values.js";
import { whiteSpace, withoutLeadingSpace, withoutTrailingSpace } from "./white-space.js";

const spaces = new RegExp(`[${whiteSpace}]+`, "g");

/** Removes characters at the ends as `str.strip` does: white space, or the characters of a set. */
export function strip(
  text: string,
  set: string | undefined,
  budget: Budget,
  { start = true, end = true } = {},
): string {
  if (set === undefined) {
    const begun = start ? withoutLeadingSpace(text) : text;
    const kept = end ? withoutTrailingSpace(begun) : begun;
    budget.read(text.length - kept.length, 16);
    return kept;
  }
  budget.read(text.length + set.length, 32);
  const characters = new Set(set);
  const points = hasSurrogates(text) ? Array.from(text) : text;
  let from = 0;
  let to = points.length;
  if (start) while (from < to && characters.has(points[from] ?? "")) from++;
  if (end) while (to > from && characters.has(points[to - 1] ?? "")) to--;
  const kept = points.slice(from, to);
  return typeof kept === "string" ? kept : kept.join("");
}

/** Counts matches. Each counts as an element of a list, so that as many can be collected. */
export function countMatches(text: string, pattern: RegExp, budget: Budget): number {
  budget.read(text.length, 8);
  let count = 0;
  pattern.lastIndex = 0;
  while (pattern.test(text)) {
    budget.spend(2);
    count++;
  }
  return count;
}

/** Splits at white space. White space beyond the last split of a limited number is kept. */
export function splitSpaces(text: string, limit: number, fromEnd: boolean, budget: Budget): string[] {
  const words = strip(text, undefined, budget);
  if (words === "") return [];
  budget.makeItems(countMatches(words, spaces, budget) + 1);
  const gaps = [...words.matchAll(spaces)];
  const limited = limit >= 0 && limit < gaps.length;
  const used = !limited ? gaps : fromEnd ? gaps.slice(gaps.length - limit) : gaps.slice(0, limit);
  const whole = limited ? strip(text, undefined, budget, fromEnd ? { start: false } : { end: false }) : words;
  const offset = fromEnd ? whole.length - words.length : 0;
  const pieces: string[] = [];
  let at = 0;
  for (const gap of used) {
    pieces.push(whole.slice(at, offset + gap.index));
    at = offset + gap.index + gap[0].length;
  }
  pieces.push(whole.slice(at));
  return pieces;
}

// oxlint-disable-next-line no-control-regex -- the line ends of `str.splitlines`
const lineEnd = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;

export function splitLines(text: string, keepEnds: boolean, budget: Budget): string[] {
  budget.makeItems(countMatches(text, lineEnd, budget) + 1);
  const ends = [...text.matchAll(lineEnd)];
  let at = 0;
  const lines = ends.map((end) => {
    const next = end.index + end[0].length;
    const line = text.slice(at, keepEnds ? next : end.index);
    at = next;
    return line;
  });
  return at < text.length ? [...lines, text.slice(at)] : lines;
}

/** Counts a search in a text. */
function searching(text: string, part: string, budget: Budget): TextSearch {
  budget.read(text.length + part.length, searchWeight);
  return new TextSearch(part);
}

export function find(text: string, part: string, budget: Budget, from = 0): number {
  return searching(text, part, budget).next(text, from);
}

export function findLast(text: string, part: string, budget: Budget): number {
  return searching(text, part, budget).last(text);
}

/** Positions of a text that is not empty, without overlaps. */
function* positions(text: string, part: string, budget: Budget): Generator<number> {
  const search = searching(text, part, budget);
  for (let at = search.next(text); at >= 0; at = search.next(text, at + part.length)) {
    budget.spend(0.5);
    yield at;
  }
}

export function occurrences(text: string, part: string, budget: Budget): number {
  if (part === "") return text.length + 1;
  let count = 0;
  for (const _ of positions(text, part, budget)) count++;
  return count;
}

/** Splits at a text that is not empty. */
export function splitAt(text: string, by: string, budget: Budget): string[] {
  const pieces: string[] = [];
  let from = 0;
  for (const at of positions(text, by, budget)) {
    budget.checkItems(pieces.length + 2);
    pieces.push(text.slice(from, at));
    from = at + by.length;
  }
  pieces.push(text.slice(from));
  return budget.list(pieces);
}

/** Replaces as `str.replace` does; an empty `old` matches between all characters. */
export function replaceText(text: string, old: string, by: string, count: number, budget: Budget): string {
  const found = occurrences(text, old, budget);
  const times = count < 0 ? found : Math.min(count, found);
  budget.make(text.length + times * Math.max(0, by.length - old.length));
  if (old === "") {
    budget.read(text.length, 64);
    const points = Array.from(text);
    const before = points.map((character, at) => (at < times ? by + character : character)).join("");
    return times > points.length ? before + by : before;
  }
  const pieces: string[] = [];
  let from = 0;
  for (const at of positions(text, old, budget)) {
    if (pieces.length === times) break;
    pieces.push(text.slice(from, at));
    from = at + old.length;
  }
  pieces.push(text.slice(from));
  return pieces.join(by);
}

export function centered(text: string, fill: string, missing: number): string {
  // Python puts the odd character on the left if the width is odd.
  const left = Math.floor(missing / 2) + (missing & (text.length + missing) & 1);
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

/** Changing the case takes longer, and can triple the length. */
const caseWeight = 16;

export function upperCase(text: string, budget: Budget): string {
  budget.read(text.length, caseWeight);
  return text.toUpperCase();
}

export function lowerCase(text: string, budget: Budget): string {
  budget.read(text.length, caseWeight);
  return text.toLowerCase();
}

export function isUpper(text: string, budget: Budget): boolean {
  return text !== lowerCase(text, budget) && text === upperCase(text, budget);
}

export function isLower(text: string, budget: Budget): boolean {
  return text !== upperCase(text, budget) && text === lowerCase(text, budget);
}

export function capitalize(text: string, budget: Budget): string {
  const first = String.fromCodePoint(...(text === "" ? [] : [text.codePointAt(0) ?? 0]));
  return first.toUpperCase() + lowerCase(text.slice(first.length), budget);
}
