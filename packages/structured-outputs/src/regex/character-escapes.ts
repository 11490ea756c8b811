import type { CodePointRange } from "../utf8-ranges.js";
import { complementRanges } from "../utf8-ranges.js";

const digits: CodePointRange[] = [[0x30, 0x39]];
const wordCharacters: CodePointRange[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
const spaces: CodePointRange[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];

/** Ranges of `\d`, `\w` and `\s`, as ECMAScript defines them without flags. */
export const classEscapes: ReadonlyMap<string, readonly CodePointRange[]> = new Map([
  ["d", digits],
  ["D", complementRanges(digits)],
  ["w", wordCharacters],
  ["W", complementRanges(wordCharacters)],
  ["s", spaces],
  ["S", complementRanges(spaces)],
]);

/** Escapes of one letter that name a control character. */
export const controlEscapes: ReadonlyMap<string, number> = new Map([
  ["t", 0x09],
  ["n", 0x0a],
  ["v", 0x0b],
  ["f", 0x0c],
  ["r", 0x0d],
  ["0", 0],
]);

/** Ranges of `.`: everything except the line terminators common to all dialects. */
export const anyCharacter: readonly CodePointRange[] = complementRanges([
  [0x0a, 0x0a],
  [0x0d, 0x0d],
]);
