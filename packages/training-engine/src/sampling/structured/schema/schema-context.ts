import type { GrammarBuilder } from "../ebnf.js";
import type { JsonGrammar } from "./json-grammar.js";
import type { SchemaLocation } from "./keywords.js";
import type { References } from "./references.js";

/** What the parts of a schema share while its grammar is written. */
export interface SchemaContext {
  builder: GrammarBuilder;
  json: JsonGrammar;
  refs: References;
  /** The rule of a nested schema. */
  rule(location: SchemaLocation, depth: number): string;
}
