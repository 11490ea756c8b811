import type { GrammarBuilder } from "../ebnf.js";
import { literal, alternation } from "../ebnf.js";
import { regexExpression } from "../regex/regex-grammar.js";
import { arrayBody } from "./array-grammar.js";
import { checkTermination } from "./termination.js";
import { formats } from "./formats.js";
import type { JsonGrammar } from "./json-grammar.js";
import { jsonString } from "./json-grammar.js";
import type { SchemaType, SchemaLocation, SchemaObject } from "./keywords.js";
import {
  countKeyword,
  effectiveKeywords,
  invalidSchema,
  isObject,
  schemaTypes,
  pointerTo,
  schemaLoc,
  typeKeywords,
  exclusiveKeywords,
} from "./keywords.js";
import type { Bound } from "./number-range.js";
import { integerRange, numberRange } from "./number-range.js";
import { objectBody } from "./object-grammar.js";
import { checkOneOf } from "./one-of.js";
import { references } from "./references.js";
import type { GrammarContext } from "./grammar-context.js";

const maxDepth = 64;
const maxLength = 10_000;

/**
 * Defines a rule for JSON texts that satisfy `schema`, and returns its name. Every text of the rule satisfies the
 * schema, but not every valid text is included: properties are in the order of the schema, undeclared ones only where
 * `additionalProperties` allows them explicitly, `pattern` must match the whole string, and strings of bounded length
 * contain no escapes. Throws `invalid`, with the pointer, for an unsupported keyword.
 */
export function schemaRule(schema: unknown, builder: GrammarBuilder, json: JsonGrammar): string {
  const refs = references(schema);
  const names = new Map<string, string>();
  const context: GrammarContext = {
    builder,
    json,
    refs,
    rule(location, depth) {
      if (depth > maxDepth) throw invalidSchema(location.pointer, `it nests deeper than ${maxDepth} levels`);
      const known = names.get(location.pointer);
      if (known) return known;
      const name = builder.reserve();
      names.set(location.pointer, name);
      builder.define(name, schemaBody(location, depth, context));
      return name;
    },
  };
  const root = { schema, pointer: "#" };
  const name = context.rule(root, 0);
  checkTermination(root, refs);
  return name;
}

function schemaBody({ schema, pointer }: SchemaLocation, depth: number, context: GrammarContext): string {
  if (schema === true) return context.json.value();
  if (schema === false) throw invalidSchema(pointer, "false allows no value");
  if (!isObject(schema)) throw invalidSchema(pointer, "a schema is an object or true");
  const location = { schema, pointer };
  const keywords = effectiveKeywords(location);
  for (const [exclusive, allowed] of exclusiveKeywords) {
    if (!keywords.includes(exclusive)) continue;
    const other = keywords.find((keyword) => keyword !== exclusive && !allowed.includes(keyword));
    if (other) throw invalidSchema(pointerTo(pointer, other), `${other} together with ${exclusive} is not supported`);
  }
  if ("$ref" in schema) return context.rule(context.refs.target(schema.$ref, pointer), depth + 1);
  if ("const" in schema || "enum" in schema) return valuesBody(location);
  if ("anyOf" in schema) return branches(location, "anyOf", depth, context);
  if ("oneOf" in schema) {
    checkOneOf(location, context.refs);
    return branches(location, "oneOf", depth, context);
  }
  if ("allOf" in schema) {
    if (!Array.isArray(schema.allOf) || schema.allOf.length !== 1) {
      throw invalidSchema(pointerTo(pointer, "allOf"), "allOf is supported with exactly one schema");
    }
    return branches(location, "allOf", depth, context);
  }
  const types = typesOf(location, keywords);
  if (types.length === 0) return context.json.value();
  return types.map((type) => typeBody(type, location, depth, context)).join(" | ");
}

function branches(
  { schema, pointer }: SchemaLocation<SchemaObject>,
  keyword: string,
  depth: number,
  context: GrammarContext,
): string {
  const list = schema[keyword];
  const at = pointerTo(pointer, keyword);
  if (!Array.isArray(list) || list.length === 0) throw invalidSchema(at, `${keyword} must be a list of schemas`);
  const rules = list.map((branch: unknown, index) =>
    context.rule({ schema: branch, pointer: pointerTo(at, index) }, depth + 1),
  );
  return rules.join(" | ");
}

/** Returns the types named by `type`, or else those that the other keywords apply to. None means any type. */
function typesOf({ schema, pointer }: SchemaLocation<SchemaObject>, keywords: readonly string[]): SchemaType[] {
  if (!("type" in schema)) {
    const implied = schemaTypes.filter((type) => typeKeywords[type].some((keyword) => keywords.includes(keyword)));
    return implied.filter((type) => type !== "integer");
  }
  const named: unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  const types = schemaTypes.filter((type) => named.includes(type));
  if (types.length === 0 || types.length !== new Set(named).size) {
    throw invalidSchema(pointerTo(pointer, "type"), `type must be one or several of ${schemaTypes.join(", ")}`);
  }
  return types.includes("number") ? types.filter((type) => type !== "integer") : types;
}

function typeBody(
  type: SchemaType,
  location: SchemaLocation<SchemaObject>,
  depth: number,
  context: GrammarContext,
): string {
  switch (type) {
    case "object":
      return objectBody(location, depth, context);
    case "array":
      return arrayBody(location, depth, context);
    case "string":
      return stringBody(location, context);
    case "boolean":
      return '"true" | "false"';
    case "null":
      return '"null"';
    default:
      return numberBody(type, location, context.json);
  }
}

function valuesBody({ schema, pointer }: SchemaLocation<SchemaObject>): string {
  const list: unknown = "enum" in schema ? schema.enum : [schema.const];
  const at = pointerTo(pointer, "enum" in schema ? "enum" : "const");
  if (!Array.isArray(list) || list.length === 0) throw invalidSchema(at, "enum must be a list of values");
  const types = "type" in schema ? typesOf({ schema, pointer }, []) : schemaTypes;
  const onlyConst = "const" in schema ? JSON.stringify(schema.const) : undefined;
  const values = list
    .filter((value: unknown) => types.some((type) => hasType(value, type)))
    .map((value) => JSON.stringify(value));
  const fitting = values.filter((value) => onlyConst === undefined || value === onlyConst);
  if (fitting.length === 0) throw invalidSchema(at, "no value of the list satisfies the schema");
  return alternation(fitting.map(literal));
}

function hasType(value: unknown, type: SchemaType): boolean {
  switch (type) {
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function stringBody({ schema, pointer }: SchemaLocation<SchemaObject>, { builder, json }: GrammarContext): string {
  const source = patternOf({ schema, pointer });
  const bounded = "minLength" in schema || "maxLength" in schema;
  if (source === undefined && !bounded) return json.string();
  if (source !== undefined && bounded) {
    const keyword = "minLength" in schema ? "minLength" : "maxLength";
    throw invalidSchema(
      pointerTo(pointer, keyword),
      `${keyword} together with pattern or format is not supported: include it in the pattern`,
    );
  }
  const quote = literal('"');
  if (source !== undefined) {
    return `${quote} ${regexExpression(source, schemaLoc(pointerTo(pointer, "pattern")), jsonString(builder))} ${quote}`;
  }
  const minLength = countKeyword(schema, "minLength", pointer, maxLength) ?? 0;
  const max = countKeyword(schema, "maxLength", pointer, maxLength);
  if (max !== undefined && max < minLength)
    throw invalidSchema(pointerTo(pointer, "maxLength"), "maxLength is below minLength");
  if (max === 0) return `${quote} ${quote}`;
  return `${quote} ${json.unescapedCharacter}{${minLength},${max ?? ""}} ${quote}`;
}

function patternOf({ schema, pointer }: SchemaLocation<SchemaObject>): string | undefined {
  const { pattern, format } = schema;
  if ("pattern" in schema && typeof pattern !== "string")
    throw invalidSchema(pointerTo(pointer, "pattern"), "pattern must be text");
  if (!("format" in schema)) return typeof pattern === "string" ? pattern : undefined;
  const at = pointerTo(pointer, "format");
  if ("pattern" in schema) throw invalidSchema(at, "format together with pattern is not supported");
  const source = typeof format === "string" ? formats.get(format) : undefined;
  if (source === undefined) {
    throw invalidSchema(
      at,
      `the format ${JSON.stringify(format)} is not supported (${[...formats.keys()].join(", ")} are)`,
    );
  }
  return source;
}

function numberBody(
  type: "number" | "integer",
  { schema, pointer }: SchemaLocation<SchemaObject>,
  json: JsonGrammar,
): string {
  const low = tighterBound(bound(schema, "minimum", pointer), bound(schema, "exclusiveMinimum", pointer), 1);
  const high = tighterBound(bound(schema, "maximum", pointer), bound(schema, "exclusiveMaximum", pointer), -1);
  if (!low && !high) return type === "integer" ? json.integer() : json.number();
  const location = schemaLoc(pointer);
  return type === "integer" ? integerRange(low, high, location) : numberRange(low, high, location);
}

function bound(schema: SchemaObject, keyword: string, pointer: string): Bound | undefined {
  if (!(keyword in schema)) return undefined;
  const value = schema[keyword];
  if (typeof value !== "number" || !Number.isFinite(value))
    throw invalidSchema(pointerTo(pointer, keyword), `${keyword} must be a number`);
  return { value, exclusive: keyword.startsWith("exclusive") };
}

/** Returns the tighter bound. `direction` is 1 for lower bounds, -1 for upper ones. */
function tighterBound(one: Bound | undefined, other: Bound | undefined, direction: 1 | -1): Bound | undefined {
  if (!one || !other) return one ?? other;
  const distance = (other.value - one.value) * direction;
  return distance >= 0 ? other : one;
}
