import type { GrammarBuilder } from "../ebnf.js";
import type { JsonGrammar } from "./json-grammar.js";
import type { SchemaLocation } from "./keywords.js";
import type { References } from "./references.js";

/** State that is shared while the grammar of a schema is written. */
export interface GrammarContext {
  builder: GrammarBuilder;
  json: JsonGrammar;
  refs: References;
  /** Returns the rule of a nested schema. */
  rule(location: SchemaLocation, depth: number): string;
}
