import { characterClass, literal, oneOf, type RuleBook } from "../ebnf.js";
import type { CharacterWriter } from "../regex/regex-grammar.js";
import { type CodePointRange, normalRanges, otherRanges } from "../utf8-ranges.js";

const mustEscape: CodePointRange[] = [
  [0x00, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
];
/** Characters that stand for themselves between the quotes of a JSON string. */
export const rawCharacters = otherRanges(mustEscape);

/** Inside a JSON string: a backslash, a quote and control characters are written as `JSON.stringify` writes them. */
export function jsonString(book: RuleBook): CharacterWriter {
  return {
    set(ranges) {
      const options: string[] = [];
      const raw = intersection(ranges, rawCharacters);
      if (raw.length > 0) options.push(book.characters(raw));
      for (const [first, last] of intersection(ranges, mustEscape)) {
        for (let each = first; each <= last; each++) options.push(inString(String.fromCodePoint(each)));
      }
      return oneOf(options);
    },
    text: inString,
  };
}

/** The text as it stands between quotes. */
function inString(text: string): string {
  return literal(JSON.stringify(text).slice(1, -1));
}

function intersection(ranges: readonly CodePointRange[], others: readonly CodePointRange[]): CodePointRange[] {
  return normalRanges(
    ranges.flatMap(([first, last]) =>
      others
        .map(([from, to]): CodePointRange => [Math.max(first, from), Math.min(last, to)])
        .filter(([from, to]) => from <= to),
    ),
  );
}

/** Expressions for JSON without a schema, made when first asked for. Numbers have at most 15 digits, so that none is lost. */
export interface JsonText {
  /** White space where JSON allows it; may be empty. */
  space: string;
  comma: string;
  colon: string;
  /** One character of a string that needs no escape. */
  plainCharacter: string;
  string(): string;
  number(): string;
  integer(): string;
  value(): string;
  object(): string;
  array(): string;
}

export function jsonText(book: RuleBook, space: string, [comma, colon]: [comma: string, colon: string]): JsonText {
  const names = new Map<string, string>();
  const once = (key: string, body: () => string): string => {
    const known = names.get(key);
    if (known) return known;
    const name = book.reserve();
    names.set(key, name);
    book.define(name, body());
    return name;
  };
  const plain = characterClass(rawCharacters);
  const hex = "[0-9a-fA-F]";
  // Halves of surrogates are left out.
  const escape = `["\\\\/bfnrt] | "u" ([0-9a-ce-fA-CE-F] ${hex} | [dD] [0-7]) ${hex} ${hex}`;
  // Runs of plain characters are one state, which is what makes long strings fast; an escape begins anew.
  const characters = (): string => once("characters", () => `${plain}* ("\\\\" (${escape}) ${characters()})?`);
  const text: JsonText = {
    plainCharacter: plain,
    space,
    comma,
    colon,
    string: () => once("string", () => `${literal('"')} ${characters()} ${literal('"')}`),
    integer: () => once("integer", () => '"0" | "-"? [1-9] [0-9]{0,14}'),
    number: () => once("number", () => '"-"? ("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,15})? ([eE] [+-]? [0-9]{1,2})?'),
    value: () =>
      once("value", () =>
        [text.object(), text.array(), text.string(), text.number(), '"true" | "false" | "null"'].join(" | "),
      ),
    object: () =>
      once("object", () => {
        const member = `${text.string()} ${colon} ${text.value()}`;
        return `"{" ${space} (${member} (${comma} ${member})* ${space})? "}"`;
      }),
    array: () =>
      once(
        "array",
        () => `${literal("[")} ${space} (${text.value()} (${comma} ${text.value()})* ${space})? ${literal("]")}`,
      ),
  };
  return text;
}
