import type { GrammarBuilder } from "../ebnf.js";
import type { Conjunction, Parts } from "./conjunction.js";
import type { JsonGrammar } from "./json-grammar.js";

/** State that is shared while the grammar of a schema is written. */
export interface GrammarContext {
  builder: GrammarBuilder;
  json: JsonGrammar;
  /** Expressions of automata by what they describe, since members often have the same format. */
  automata: Map<string, string>;
  /** Returns the rule of a nested value that has to satisfy all schemas. */
  rule(conjunction: Conjunction, depth: number): string;
  /** Follows the references in schemas. */
  partsOf(conjunction: Conjunction): Parts;
  /** Returns the JSON texts of all values that satisfy the schemas, if they list them. */
  valuesOf(conjunction: Conjunction): string[] | undefined;
}
