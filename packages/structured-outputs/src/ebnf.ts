import { HeddleError } from "@heddle/errors";
import type { ByteRange, CodePointRange } from "./utf8-ranges.js";
import { byteSequences, complementRanges } from "./utf8-ranges.js";

/** Returns a grammar expression for exactly this text. */
export function literal(text: string): string {
  return `"${Array.from(text, (character) => escaped(character.codePointAt(0) ?? 0)).join("")}"`;
}

/**
 * Returns a grammar expression for one code point of `ranges`, which must not be empty. The classes of xgrammar are
 * sets of bytes, not of characters. Only negated ones support characters beyond ASCII, and then all of them or none.
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
  // xgrammar reads a class of one member as that character in UTF-8.
  const [only] = ranges;
  const isCharacter = ranges.length === 1 && only && only[0] === only[1];
  return `[${negation}${parts.join("")}${isCharacter ? escaped(only[0]) : ""}]`;
}

/** Escapes everything except letters and digits: other characters can have a meaning in a class or a string. */
function escaped(codePoint: number): string {
  const character = String.fromCodePoint(codePoint);
  if (/[A-Za-z0-9 ]/.test(character)) return character;
  if (codePoint <= 0xffff) return String.raw`\u${codePoint.toString(16).padStart(4, "0")}`;
  return String.raw`\U${codePoint.toString(16).padStart(8, "0")}`;
}

/** The rules of a grammar under construction. `root` is the start rule. */
export interface GrammarBuilder {
  /** Returns the name of a rule that is defined later with `define`, so that it may refer to itself. */
  reserve(): string;
  define(name: string, body: string): void;
  /** Returns the name of the rule for `body`, which is added if there is none. */
  rule(body: string): string;
  /** Returns an expression for one code point of the ranges: a class, or a rule for multi-byte characters. */
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
      throw new HeddleError("too_large", `The grammar of the constraint has more than ${limit}.`);
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
