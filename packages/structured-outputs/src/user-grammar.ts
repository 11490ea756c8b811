import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import { characterClass } from "./ebnf.js";
import type { CodePointRange } from "./utf8-ranges.js";
import { normalizeRanges, complementRanges } from "./utf8-ranges.js";

const maxDepth = 200;
const maxCharacters = 2_000_000;
/** Strings, comments and classes, in which other characters have no meaning. One that is not closed is left to xgrammar. */
const significant = /"(?:\\.|[^"\\\n])*"?|#[^\n]*|\[(?:\\.|[^\]\\\n])*(\]?)|[()]/gsu;
const controls: Readonly<Record<string, number>> = {
  n: 0x0a,
  r: 0x0d,
  t: 0x09,
  "0": 0,
  a: 7,
  b: 8,
  f: 12,
  v: 11,
  e: 27,
};

/**
 * Rewrites the character classes of a user's grammar as bytes: xgrammar misreads classes beyond ASCII, and its negated
 * classes allow invalid UTF-8. xgrammar validates the rest.
 */
export function userGrammarSource(grammar: unknown, loc: Loc): string {
  if (typeof grammar !== "string" || grammar.trim() === "") {
    throw new HeddleError("invalid", "The grammar must be text that is not empty.", { loc });
  }
  let depth = 0;
  let length = grammar.length;
  const classes = new Map<string, string>();
  const pieces: string[] = [];
  let end = 0;
  for (const { 0: part, 1: closing, index: offset } of grammar.matchAll(significant)) {
    if (part === "(" && ++depth > maxDepth) throw failure("parentheses nest too deeply", offset);
    if (part === ")") depth--;
    if (closing !== "]") continue;
    const source = classes.get(part) ?? classSource(part, offset);
    classes.set(part, source);
    length += source.length - part.length;
    if (length > maxCharacters) {
      const message = `The grammar is too large: it has more than ${maxCharacters} characters with its classes as bytes.`;
      throw new HeddleError("too_large", message, { loc });
    }
    pieces.push(grammar.slice(end, offset), source);
    end = offset + part.length;
  }
  pieces.push(grammar.slice(end));
  return pieces.join("");

  function classSource(part: string, offset: number): string {
    const negated = part.startsWith("[^");
    const members = Array.from(
      part.slice(negated ? 2 : 1, -1).matchAll(/\\U[0-9a-fA-F]{8}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{1,8}|\\?./gsu),
    );
    const ranges: CodePointRange[] = [];
    for (let at = 0; at < members.length; at++) {
      const first = codePointOf(members[at]?.[0] ?? "", offset);
      const isRange = members[at + 1]?.[0] === "-" && at + 2 < members.length;
      const last = isRange ? codePointOf(members[at + 2]?.[0] ?? "", offset) : first;
      if (last < first) throw failure("the range of a character class is out of order", offset);
      if (isRange) at += 2;
      ranges.push([first, last]);
    }
    const set = negated ? complementRanges(ranges) : normalizeRanges(ranges);
    if (set.length === 0) throw failure("a character class matches nothing", offset);
    return characterClass(set);
  }

  function codePointOf(member: string, offset: number): number {
    const hexadecimal = /^\\[uUx]([0-9a-fA-F]+)$/.exec(member)?.[1];
    const named = member.startsWith("\\") ? controls[member[1] ?? ""] : undefined;
    if (hexadecimal === undefined && named === undefined && /^\\[A-Za-z0-9]/.test(member)) {
      throw failure(`${member} is not supported in a character class`, offset);
    }
    const unescaped = member.startsWith("\\") ? member.slice(1) : member;
    const codePoint =
      hexadecimal === undefined ? (named ?? unescaped.codePointAt(0) ?? 0) : Number.parseInt(hexadecimal, 16);
    if (codePoint > 0x10ffff) throw failure("there is no such code point", offset);
    return codePoint;
  }

  function failure(reason: string, offset: number): HeddleError {
    const line = (typeof grammar === "string" ? grammar : "").slice(0, offset).split("\n").length;
    return new HeddleError("invalid", `The grammar cannot be used: ${reason} (line ${line}).`, { loc });
  }
}
