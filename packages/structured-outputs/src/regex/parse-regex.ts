import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import type { CodePointRange } from "../utf8-ranges.js";
import { normalizeRanges, complementRanges } from "../utf8-ranges.js";
import { anyCharacter, classEscapes, controlEscapes } from "./character-escapes.js";
import type { Regex } from "./regex-syntax.js";
import { unicodeProperty } from "./unicode-properties.js";

const maxCharacters = 10_000;
const maxDepth = 64;
const maxCount = 10_000;

/**
 * Parses an ECMAScript regular expression without look-behind, back references, `\b` and flags.
 * Lazy quantifiers are equivalent to greedy ones. Throws `invalid` with `loc` and the position in the expression.
 */
export function parseRegex(source: string, loc: Loc): Regex {
  if (source.length > maxCharacters) {
    const sizes = `${source.length} characters, ${maxCharacters} are allowed`;
    throw new HeddleError("too_large", `The regular expression is too long: ${sizes}.`, { loc });
  }
  const characters = Array.from(source);
  let at = 0;
  let depth = 0;
  const regex = choice();
  if (at < characters.length) fail("this parenthesis has no opening one");
  return regex;

  function fail(reason: string, position = at): never {
    const location = `at position ${position} of the regular expression`;
    throw new HeddleError("invalid", `Regular expression not usable: ${reason} (${location}).`, { loc });
  }

  function take(character: string): boolean {
    if (characters[at] !== character) return false;
    at++;
    return true;
  }

  function takeText(text: string): boolean {
    if (characters.slice(at, at + text.length).join("") !== text) return false;
    at += text.length;
    return true;
  }

  function choice(): Regex {
    const options = [sequence()];
    while (take("|")) options.push(sequence());
    return options.length === 1 && options[0] ? options[0] : { kind: "choice", options };
  }

  function sequence(): Regex {
    const parts: Regex[] = [];
    while (at < characters.length && characters[at] !== "|" && characters[at] !== ")") parts.push(repeated(atom()));
    return { kind: "sequence", parts };
  }

  function atom(): Regex {
    const start = at;
    const character = characters[at++] ?? "";
    if (character === "(") return group(start);
    if (character === "[") return { kind: "characters", ranges: bracket(start) };
    if (character === ".") return { kind: "characters", ranges: anyCharacter };
    if (character === "^") return { kind: "start" };
    if (character === "$") return { kind: "end" };
    if (character === "\\") return { kind: "characters", ranges: escape(false) };
    if ("*+?{".includes(character)) fail("there is nothing to repeat", start);
    return { kind: "characters", ranges: single(character) };
  }

  function group(start: number): Regex {
    if (++depth > maxDepth) fail(`groups nest deeper than ${maxDepth}`, start);
    const look = takeText("?=") ? "=" : takeText("?!") ? "!" : undefined;
    if (look === undefined && take("?")) groupKind(start);
    const inner = choice();
    if (!take(")")) fail("this group is never closed", start);
    depth--;
    return look === undefined ? inner : { kind: "look", ahead: inner, negative: look === "!" };
  }

  function groupKind(start: number): void {
    if (take(":")) return;
    if (takeText("<=") || takeText("<!")) fail("look-behind is not supported", start);
    takeText("P");
    if (!take("<")) fail("this kind of group is not supported", start);
    while (at < characters.length && /[\w$]/.test(characters[at] ?? "")) at++;
    if (!take(">")) fail("the name of this group is not closed", start);
  }

  function repeated(part: Regex): Regex {
    let quantified = part;
    for (let times = 0; ; times++) {
      const start = at;
      const range = quantifier();
      if (!range) return quantified;
      if (times > 0) fail("a quantifier follows a quantifier", start);
      if (part.kind === "start" || part.kind === "end") fail("an anchor cannot be repeated", start);
      if (part.kind === "look") fail("look-ahead cannot be repeated", start);
      if (take("+")) fail("possessive quantifiers are not supported", start);
      take("?");
      quantified = { kind: "repeat", part, ...range };
    }
  }

  function quantifier(): { min: number; max: number | undefined } | undefined {
    if (take("*")) return { min: 0, max: undefined };
    if (take("+")) return { min: 1, max: undefined };
    if (take("?")) return { min: 0, max: 1 };
    if (characters[at] !== "{") return undefined;
    const start = at++;
    const min = integer();
    const open = take(",");
    const max = open ? integer() : min;
    if (min === undefined || !take("}")) fail("a brace that is not a count must be escaped", start);
    if (max !== undefined && max < min) fail("the counts are out of order", start);
    if (Math.max(min, max ?? 0) > maxCount) fail(`counts above ${maxCount} are not supported`, start);
    return { min, max };
  }

  function integer(): number | undefined {
    const start = at;
    while (/^[0-9]$/.test(characters[at] ?? "")) at++;
    return at === start ? undefined : Number(characters.slice(start, at).join(""));
  }

  function bracket(start: number): CodePointRange[] {
    const negated = take("^");
    const ranges: CodePointRange[] = [];
    while (!take("]")) {
      if (at >= characters.length) fail("this character class is never closed", start);
      const from = classAtom();
      const isRange = characters[at] === "-" && characters[at + 1] !== "]" && at + 1 < characters.length;
      if (!isRange) {
        ranges.push(...from);
        continue;
      }
      const dash = at++;
      const to = classAtom();
      const [first, last] = [onlyPoint(from), onlyPoint(to)];
      if (first === undefined || last === undefined) fail("a class cannot be the end of a range", dash);
      if (first > last) fail("this range is out of order", dash);
      ranges.push([first, last]);
    }
    const set = negated ? complementRanges(ranges) : normalizeRanges(ranges);
    if (set.length === 0) fail("this character class matches nothing", start);
    return set;
  }

  function classAtom(): readonly CodePointRange[] {
    const character = characters[at++] ?? "";
    return character === "\\" ? escape(true) : single(character);
  }

  function escape(inClass: boolean): readonly CodePointRange[] {
    const start = at - 1;
    const character = characters[at++];
    if (character === undefined) fail("it ends in a backslash", start);
    const named = classEscapes.get(character);
    if (named) return named;
    if (character === "b" && inClass) return [[8, 8]];
    if (character === "0" && /^[0-9]$/.test(characters[at] ?? "")) fail("octal escapes are not supported", start);
    const control = controlEscapes.get(character);
    if (control !== undefined) return [[control, control]];
    if (character === "x") return hexadecimal(2, start);
    if ((character === "p" || character === "P") && take("{")) return property(character, start);
    if (character === "u") return takeText("{") ? braced(start) : hexadecimal(4, start);
    if (/[1-9k]/.test(character)) fail("back references are not supported", start);
    if (character === "b" || character === "B") fail(`\\${character} is not supported`, start);
    if (/[a-z]/i.test(character)) fail(`\\${character} is not supported`, start);
    return single(character);
  }

  function property(letter: string, start: number): readonly CodePointRange[] {
    const end = characters.indexOf("}", at);
    const name = characters.slice(at, Math.max(at, end)).join("");
    at = end + 1;
    return unicodeProperty(letter, name) ?? fail("no such Unicode property", start);
  }

  function hexadecimal(length: number, start: number): CodePointRange[] {
    const text = characters.slice(at, at + length).join("");
    if (!new RegExp(`^[0-9a-fA-F]{${length}}$`).test(text)) fail(`${length} hexadecimal digits must follow`, start);
    at += length;
    return point(Number.parseInt(text, 16), start);
  }

  function braced(start: number): CodePointRange[] {
    const end = characters.indexOf("}", at);
    const text = characters.slice(at, Math.max(at, end)).join("");
    if (!/^[0-9a-fA-F]{1,6}$/.test(text)) fail("a code point must be between the braces", start);
    at = end + 1;
    return point(Number.parseInt(text, 16), start);
  }

  function point(codePoint: number, start: number): CodePointRange[] {
    if (codePoint > 0x10ffff || (codePoint >= 0xd800 && codePoint <= 0xdfff)) fail("no such code point", start);
    return [[codePoint, codePoint]];
  }
}

function single(character: string): CodePointRange[] {
  const codePoint = character.codePointAt(0) ?? 0;
  return [[codePoint, codePoint]];
}

function onlyPoint(ranges: readonly CodePointRange[]): number | undefined {
  const [range] = ranges;
  return ranges.length === 1 && range && range[0] === range[1] ? range[0] : undefined;
}
