import type { Budget } from "./budget.js";
import { hasSurrogates } from "./values.js";
import { whiteSpace, withoutLeadingSpace, withoutTrailingSpace } from "./white-space.js";

const spaces = new RegExp(`[${whiteSpace}]+`, "g");

/** Removes characters at the ends as `str.strip` does: white space, or the characters of a set. */
export function strip(text: string, set: string | undefined, { start = true, end = true } = {}): string {
  if (set === undefined) {
    const begun = start ? withoutLeadingSpace(text) : text;
    return end ? withoutTrailingSpace(begun) : begun;
  }
  const characters = new Set(set);
  const points = hasSurrogates(text) ? Array.from(text) : text;
  let from = 0;
  let to = points.length;
  if (start) while (from < to && characters.has(points[from] ?? "")) from++;
  if (end) while (to > from && characters.has(points[to - 1] ?? "")) to--;
  const kept = points.slice(from, to);
  return typeof kept === "string" ? kept : kept.join("");
}

/** Splits at white space. White space beyond the last split of a limited number is kept. */
export function splitSpaces(text: string, limit: number, fromEnd: boolean, budget: Budget): string[] {
  const words = strip(text, undefined);
  if (words === "") return [];
  const gaps = [...words.matchAll(spaces)];
  budget.checkItems(gaps.length + 1);
  const limited = limit >= 0 && limit < gaps.length;
  const used = !limited ? gaps : fromEnd ? gaps.slice(gaps.length - limit) : gaps.slice(0, limit);
  const whole = limited ? strip(text, undefined, fromEnd ? { start: false } : { end: false }) : words;
  const offset = fromEnd ? whole.length - words.length : 0;
  const pieces: string[] = [];
  let at = 0;
  for (const gap of used) {
    pieces.push(whole.slice(at, offset + gap.index));
    at = offset + gap.index + gap[0].length;
  }
  pieces.push(whole.slice(at));
  return budget.list(pieces);
}

// oxlint-disable-next-line no-control-regex -- the line ends of `str.splitlines`
const lineEnd = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;

export function splitLines(text: string, keepEnds: boolean, budget: Budget): string[] {
  const ends = [...text.matchAll(lineEnd)];
  budget.checkItems(ends.length + 1);
  let at = 0;
  const lines = ends.map((end) => {
    const next = end.index + end[0].length;
    const line = text.slice(at, keepEnds ? next : end.index);
    at = next;
    return line;
  });
  return budget.list(at < text.length ? [...lines, text.slice(at)] : lines);
}

export function occurrences(text: string, part: string): number {
  if (part === "") return text.length + 1;
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

/** Replaces as `str.replace` does; an empty `old` matches between all characters. */
export function replaceText(text: string, old: string, by: string, count: number, budget: Budget): string {
  const times = count < 0 ? occurrences(text, old) : Math.min(count, occurrences(text, old));
  budget.checkLength(text.length + times * (by.length - old.length));
  if (old === "") {
    const points = Array.from(text);
    const before = points.map((character, at) => (at < times ? by + character : character)).join("");
    return times > points.length ? before + by : before;
  }
  let result = "";
  let at = 0;
  for (let done = 0; done < times; done++) {
    const found = text.indexOf(old, at);
    result += text.slice(at, found) + by;
    at = found + old.length;
  }
  return result + text.slice(at);
}

export function centered(text: string, fill: string, missing: number): string {
  // Python puts the odd character on the left if the width is odd.
  const left = Math.floor(missing / 2) + (missing & (text.length + missing) & 1);
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

export function capitalize(text: string): string {
  const [first = "", ...rest] = text;
  return first.toUpperCase() + rest.join("").toLowerCase();
}
