import type { GrammarBuilder } from "../ebnf.js";
import { arrayBody } from "./array-grammar.js";
import type { Parts } from "./conjunction.js";
import { alternativesOf, branchesOf, keyOf, partsOf, typesOf } from "./conjunction.js";
import type { GrammarContext } from "./grammar-context.js";
import type { JsonGrammar } from "./json-grammar.js";
import type { SchemaType } from "./keywords.js";
import { invalidSchema, pointerTo } from "./keywords.js";
import { withoutNullable } from "./nullable.js";
import { numberBody } from "./number-grammar.js";
import { objectBody } from "./object-grammar.js";
import { checkOneOf } from "./one-of.js";
import { references } from "./references.js";
import { stringBody } from "./string-grammar.js";
import { checkTermination } from "./termination.js";
import { listedValues, valuesBody } from "./values.js";

const maxDepth = 64;

/**
 * Defines a rule for JSON texts that satisfy `schema`, and returns its name. Every text of the rule satisfies the
 * schema, but not every valid text is included: properties are in the order of the schema, undeclared ones only where
 * `additionalProperties` or a pattern allows them explicitly, `pattern` must match the whole string, and strings of
 * bounded length contain no escapes. Throws `invalid`, with the pointer, for an unsupported keyword.
 */
export function schemaRule(given: unknown, builder: GrammarBuilder, json: JsonGrammar): string {
  const schema = withoutNullable(given);
  const refs = references(schema);
  const names = new Map<string, string>();
  const context: GrammarContext = {
    builder,
    json,
    automata: new Map(),
    partsOf: (conjunction) => partsOf(conjunction, refs),
    valuesOf: (conjunction) => {
      const parts = partsOf(conjunction, refs);
      const types = typesOf(parts);
      if (types?.every((type) => type === "boolean" || type === "null")) {
        const all = types.flatMap((type) => (type === "null" ? ["null"] : ["true", "false"]));
        return listedValues(parts, schema) ?? all;
      }
      return alternativesOf(parts) ? undefined : listedValues(parts, schema);
    },
    rule(conjunction, depth) {
      const parts = partsOf(conjunction, refs);
      if (parts.length === 0) return json.value();
      if (depth > maxDepth) throw invalidSchema(parts[0]?.pointer ?? "#", `it nests deeper than ${maxDepth} levels`);
      const key = keyOf(parts);
      const known = names.get(key);
      if (known) return known;
      const name = builder.reserve();
      names.set(key, name);
      builder.define(name, body(parts, depth));
      return name;
    },
  };
  const root = { schema, pointer: "#" };
  const name = context.rule([root], 0);
  checkTermination(root, refs);
  return name;

  function body(parts: Parts, depth: number): string {
    const alternatives = alternativesOf(parts);
    if (!alternatives) return plainBody(parts, depth);
    const { part, keyword, others } = alternatives;
    const branches = branchesOf(part, keyword);
    if (keyword === "oneOf") checkOneOf(part, refs);
    const possible =
      others.length === 0
        ? branches
        : branches.filter((branch) => typesOf(partsOf([...others, branch], refs))?.length !== 0);
    if (possible.length === 0)
      throw invalidSchema(pointerTo(part.pointer, keyword), "none of its schemas has a type that the others allow");
    const values: string[] = [];
    const rules = possible.flatMap((branch) => {
      const listed = context.valuesOf([...others, branch]);
      values.push(...(listed ?? []));
      return listed ? [] : [context.rule([...others, branch], depth + 1)];
    });
    return [...(values.length > 0 ? [valuesBody(values)] : []), ...rules].join(" | ");
  }

  function plainBody(parts: Parts, depth: number): string {
    const values = listedValues(parts, schema);
    if (values) return valuesBody(values);
    const types = typesOf(parts);
    const pointer = parts[0]?.pointer ?? "#";
    if (types === undefined) return json.value();
    if (types.length === 0) throw invalidSchema(pointerTo(pointer, "type"), "the schemas allow no common type");
    return types.map((type) => typeBody(type, parts, depth)).join(" | ");
  }

  function typeBody(type: SchemaType, parts: Parts, depth: number): string {
    switch (type) {
      case "object":
        return objectBody(parts, depth, context);
      case "array":
        return arrayBody(parts, depth, context);
      case "string":
        return stringBody(parts, context);
      case "boolean":
        return '"true" | "false"';
      case "null":
        return '"null"';
      default:
        return numberBody(type, parts, builder, json);
    }
  }
}
