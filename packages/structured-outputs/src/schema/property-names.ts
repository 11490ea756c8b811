import { isJsonObject } from "@heddle/exact-json";
import { parseRegex } from "../regex/parse-regex.js";
import { regexTerm } from "../regex/regex-terms.js";
import type { Term } from "../regex/terms.js";
import { Terms } from "../regex/terms.js";
import type { Parts } from "./conjunction.js";
import { alternativesOf, having, typesOf } from "./conjunction.js";
import type { GrammarContext } from "./grammar-context.js";
import type { SchemaLocation, SchemaObject } from "./keywords.js";
import { invalidSchema, pointerTo, schemaLoc } from "./keywords.js";
import { nameTerm } from "./string-grammar.js";

/** A pattern of `patternProperties`. */
export interface NamePattern {
  part: SchemaLocation<SchemaObject>;
  location: SchemaLocation;
  term: Term;
  matches(name: string): boolean;
}

/** What `propertyNames` and `patternProperties` say about the names of members. */
export interface MemberNames {
  terms: Terms;
  patterns: readonly NamePattern[];
  /** The only names there may be. */
  listed: string[] | undefined;
  /** The names there may be, undefined for all. */
  allowed: Term | undefined;
  allows(name: string): boolean;
}

export function memberNames(parts: Parts, context: GrammarContext): MemberNames {
  const terms = new Terms();
  const patterns = having(parts, "patternProperties").flatMap((part) => patternsOf(part, terms));
  const conjunction = having(parts, "propertyNames").map(({ schema, pointer }) => ({
    schema: schema.propertyNames,
    pointer: pointerTo(pointer, "propertyNames"),
  }));
  const rules = context.partsOf(conjunction);
  if (rules.length === 0) return { terms, patterns, listed: undefined, allowed: undefined, allows: () => true };
  const at = conjunction[0]?.pointer ?? "#";
  if (alternativesOf(rules)) throw invalidSchema(at, "propertyNames with anyOf or oneOf is not supported");
  if (!(typesOf(having(rules, "type")) ?? ["string"]).includes("string"))
    throw invalidSchema(at, "propertyNames has to allow strings");
  const listed = context
    .valuesOf(conjunction)
    ?.map((text): unknown => JSON.parse(text))
    .filter((name) => typeof name === "string");
  if (listed) return { terms, patterns, listed, allowed: undefined, allows: (name) => listed.includes(name) };
  const allowed = nameTerm(rules, terms);
  return { terms, patterns, listed, allowed, allows: (name) => terms.includes(allowed, name) };
}

function patternsOf(part: SchemaLocation<SchemaObject>, terms: Terms): NamePattern[] {
  const at = pointerTo(part.pointer, "patternProperties");
  const { patternProperties } = part.schema;
  if (!isJsonObject(patternProperties)) throw invalidSchema(at, "patternProperties must be an object");
  return Object.entries(patternProperties).map(([source, schema]) => {
    const pointer = pointerTo(at, source);
    const loc = schemaLoc(pointer);
    const term = regexTerm(parseRegex(source, loc), terms, loc, true);
    return { part, location: { schema, pointer }, term, matches: (name) => terms.includes(term, name) };
  });
}
