import { HeddleError } from "@heddle/errors";
import type { ByteRange, CodePointRange } from "./utf8-ranges.js";
import { byteSequences, complementRanges } from "./utf8-ranges.js";

/** A grammar expression for exactly this text. */
export function literal(text: string): string {
  return `"${Array.from(text, (character) => escaped(character.codePointAt(0) ?? 0)).join("")}"`;
}

/**
 * A grammar expression for one code point of `ranges`, which are not empty. The classes of xgrammar are sets of bytes, not of
 * characters; only negated ones know characters beyond ASCII, all of them or none.
 */
export function characterClass(ranges: readonly CodePointRange[]): string {
  const ascii = ranges.filter(([first]) => first < 0x80);
  const nonAscii = ranges.flatMap(([first, last]): CodePointRange[] =>
    last < 0x80 ? [] : [[Math.max(first, 0x80), last]],
  );
  if (complementRanges([[0, 0x7f], ...nonAscii]).length === 0) {
    const excluded = complementRanges([...ascii, [0x80, 0x10ffff]]);
    return excluded.length === 0 ? `([\\u0000-\\u007f] | [^\\u0000-\\u007f])` : byteClass(excluded, "^");
  }
  const options = byteSequences(nonAscii).map((sequence) => sequence.map((range) => byteClass([range])).join(" "));
  if (ascii.length === 0) return `(${options.join(" | ")})`;
  const single = byteClass(ascii.map(([first, last]) => [first, Math.min(last, 0x7f)]));
  return options.length === 0 ? single : `(${single} | ${options.join(" | ")})`;
}

function byteClass(ranges: readonly ByteRange[], negation = ""): string {
  const parts = ranges.map(([first, last]) => (first === last ? escaped(first) : `${escaped(first)}-${escaped(last)}`));
  // A class of one member would be read as that character, in its UTF-8 form.
  const [only] = ranges;
  const isCharacter = ranges.length === 1 && only && only[0] === only[1];
  return `[${negation}${parts.join("")}${isCharacter ? escaped(only[0]) : ""}]`;
}

/** Only letters and digits stand for themselves: every other sign means something somewhere in a class or a string. */
function escaped(codePoint: number): string {
  const character = String.fromCodePoint(codePoint);
  if (/[A-Za-z0-9 ]/.test(character)) return character;
  if (codePoint <= 0xffff) return String.raw`\u${codePoint.toString(16).padStart(4, "0")}`;
  return String.raw`\U${codePoint.toString(16).padStart(8, "0")}`;
}

/** An expression for any one of the given ones. */
export function alternation(options: readonly string[]): string {
  const distinct = [...new Set(options)];
  return distinct.length === 1 ? (distinct[0] ?? '""') : `(${distinct.join(" | ")})`;
}

/** The rules of a grammar under construction; `root` is where text begins. */
export interface GrammarBuilder {
  /** A name for a rule that `define` will give later (it may refer to itself). */
  reserve(): string;
  define(name: string, body: string): void;
  /** A rule for `body`, or the one that already has it. */
  rule(body: string): string;
  /** One code point of the ranges: a class, or a rule where that takes more than a byte. */
  characters(ranges: readonly CodePointRange[]): string;
  text(): string;
}

export function grammarBuilder(maxCharacters: number): GrammarBuilder {
  const lines: string[] = [];
  const names = new Map<string, string>();
  let count = 0;
  let characters = 0;
  const reserve = () => `r${count++}`;
  const define = (name: string, body: string): void => {
    const line = `${name} ::= ${body}`;
    characters += line.length;
    if (characters > maxCharacters) {
      const limit = `${maxCharacters} characters`;
      throw new HeddleError("too_large", `The constraint grows to a grammar of more than ${limit}.`);
    }
    lines.push(line);
  };
  const rule = (body: string): string => {
    const known = names.get(body);
    if (known) return known;
    const name = reserve();
    names.set(body, name);
    define(name, body);
    return name;
  };
  return {
    reserve,
    define,
    rule,
    characters(ranges) {
      const expression = characterClass(ranges);
      return expression.startsWith("(") ? rule(expression) : expression;
    },
    text: () => `${lines.join("\n")}\n`,
  };
}
