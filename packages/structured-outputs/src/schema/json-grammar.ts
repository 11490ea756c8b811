import type { GrammarBuilder } from "../ebnf.js";
import { alternation } from "../alternation.js";
import { characterClass, literal } from "../ebnf.js";
import type { CharacterWriter } from "../regex/character-writer.js";
import type { CodePointRange } from "../utf8-ranges.js";
import { normalizeRanges, complementRanges } from "../utf8-ranges.js";

const mustEscape: CodePointRange[] = [
  [0x00, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
];
/** Characters that need no escape in a JSON string. */
export const unescapedCharacters = complementRanges(mustEscape);

/**
 * Writes characters of a JSON string. A backslash, a quote and control characters are escaped like in `JSON.stringify`.
 */
export function jsonString(builder: GrammarBuilder): CharacterWriter {
  return {
    set(ranges) {
      const options: string[] = [];
      const raw = intersection(ranges, unescapedCharacters);
      if (raw.length > 0) options.push(builder.characters(raw));
      for (const [first, last] of intersection(ranges, mustEscape)) {
        for (let each = first; each <= last; each++) options.push(escapedLiteral(String.fromCodePoint(each)));
      }
      return alternation(options);
    },
    grammar: escapedLiteral,
  };
}

/** Returns text with JSON escapes, without quotes. */
function escapedLiteral(grammar: string): string {
  return literal(JSON.stringify(grammar).slice(1, -1));
}

function intersection(ranges: readonly CodePointRange[], others: readonly CodePointRange[]): CodePointRange[] {
  return normalizeRanges(
    ranges.flatMap(([first, last]) =>
      others
        .map(([from, to]): CodePointRange => [Math.max(first, from), Math.min(last, to)])
        .filter(([from, to]) => from <= to),
    ),
  );
}

/**
 * Expressions for JSON without a schema, created on first use. Numbers have at most 15 digits, so that none is rounded.
 */
export interface JsonGrammar {
  /** White space where JSON allows it. May be empty. */
  space: string;
  comma: string;
  colon: string;
  /** One character of a string that needs no escape. */
  unescapedCharacter: string;
  string(): string;
  number(): string;
  integer(): string;
  value(): string;
  object(): string;
  array(): string;
}

export function jsonGrammar(
  builder: GrammarBuilder,
  space: string,
  [comma, colon]: [comma: string, colon: string],
): JsonGrammar {
  const names = new Map<string, string>();
  const ruleOnce = (key: string, body: () => string): string => {
    const known = names.get(key);
    if (known) return known;
    const name = builder.reserve();
    names.set(key, name);
    builder.define(name, body());
    return name;
  };
  const unescaped = characterClass(unescapedCharacters);
  const hex = "[0-9a-fA-F]";
  // Surrogates are excluded.
  const escape = `["\\\\/bfnrt] | "u" ([0-9a-ce-fA-CE-F] ${hex} | [dD] [0-7]) ${hex} ${hex}`;
  // Unescaped characters are one state, which makes long strings fast; an escape starts a new one.
  const characters = (): string => ruleOnce("characters", () => `${unescaped}* ("\\\\" (${escape}) ${characters()})?`);
  const grammar: JsonGrammar = {
    unescapedCharacter: unescaped,
    space,
    comma,
    colon,
    string: () => ruleOnce("string", () => `${literal('"')} ${characters()} ${literal('"')}`),
    integer: () => ruleOnce("integer", () => '"0" | "-"? [1-9] [0-9]{0,14}'),
    number: () =>
      ruleOnce("number", () => '"-"? ("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,15})? ([eE] [+-]? [0-9]{1,2})?'),
    value: () =>
      ruleOnce("value", () =>
        [grammar.object(), grammar.array(), grammar.string(), grammar.number(), '"true" | "false" | "null"'].join(
          " | ",
        ),
      ),
    object: () =>
      ruleOnce("object", () => {
        const member = `${grammar.string()} ${colon} ${grammar.value()}`;
        return `"{" ${space} (${member} (${comma} ${member})* ${space})? "}"`;
      }),
    array: () =>
      ruleOnce(
        "array",
        () => `${literal("[")} ${space} (${grammar.value()} (${comma} ${grammar.value()})* ${space})? ${literal("]")}`,
      ),
  };
  return grammar;
}
