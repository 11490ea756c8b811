import type { GrammarBuilder } from "../ebnf.js";
import { literal } from "../ebnf.js";
import type { CodePointRange } from "../utf8-ranges.js";

/** Writes one character of a set: unchanged in text, with escapes in a JSON string. */
export interface CharacterWriter {
  set(ranges: readonly CodePointRange[]): string;
  grammar(text: string): string;
}

export function textWriter(builder: GrammarBuilder): CharacterWriter {
  return { set: (ranges) => builder.characters(ranges), grammar: literal };
}
