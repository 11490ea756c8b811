import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";

/** A JSON schema that is an object. */
export type SchemaObject = Record<string, unknown>;

/** A schema and its location as a JSON pointer fragment (`#/properties/a`). */
export interface SchemaLocation<Schema = unknown> {
  schema: Schema;
  pointer: string;
  /** Tells a part of the schema at the pointer from the whole. */
  key?: string;
}

export const schemaTypes = ["object", "array", "string", "number", "integer", "boolean", "null"] as const;
export type SchemaType = (typeof schemaTypes)[number];

/** Keywords that are valid only at the root of the schema. */
const rootOnly = new Set(["$schema", "$id", "id", "$vocabulary"]);

/** Keywords of each type. */
export const typeKeywords: Record<SchemaType, readonly string[]> = {
  object: [
    "properties",
    "required",
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
  ],
  array: ["items", "prefixItems", "minItems", "maxItems", "unevaluatedItems", "uniqueItems"],
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  boolean: [],
  null: [],
};

const followed = new Set([
  ...Object.values(typeKeywords).flat(),
  "type",
  "const",
  "enum",
  "$ref",
  "anyOf",
  "oneOf",
  "allOf",
]);

/** Keywords that restrict the value, or change what others mean, in ways that no grammar here follows. */
const refusedKeywords: ReadonlySet<string> = new Set([
  "not",
  "if",
  "then",
  "else",
  "contains",
  "minContains",
  "maxContains",
  "dependentRequired",
  "dependentSchemas",
  "dependencies",
  "additionalItems",
  "$dynamicRef",
  "$recursiveRef",
  "$id",
]);

export function pointerTo(pointer: string, ...steps: (string | number)[]): string {
  return [pointer, ...steps.map((step) => String(step).replaceAll("~", "~0").replaceAll("/", "~1"))].join("/");
}

/** Keywords whose value is a list: the step after one of them is a position. */
const listKeywords = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "enum", "type", "required", "items"]);

/** Returns the location of a JSON pointer fragment in a constraint: `#/properties/a` is `schema`, `properties`, `a`. */
export function schemaLoc(pointer: string): Loc {
  const steps = pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const isPosition = (step: string, index: number) => /^\d+$/.test(step) && listKeywords.has(steps[index - 1] ?? "");
  return ["schema", ...steps.map((step, index) => (isPosition(step, index) ? Number(step) : step))];
}

export function invalidSchema(pointer: string, reason: string): HeddleError {
  return new HeddleError("invalid", `The JSON schema cannot be used: ${reason} (at ${pointer}).`, {
    loc: schemaLoc(pointer),
  });
}

/**
 * Returns the keywords of a schema that constrain the value. All others are annotations. Throws `invalid` for one that
 * constrains it in a way that is not supported.
 */
export function effectiveKeywords({ schema, pointer }: SchemaLocation<SchemaObject>): string[] {
  return Object.keys(schema).filter((keyword) => {
    if (followed.has(keyword)) return true;
    if (!refusedKeywords.has(keyword) || (rootOnly.has(keyword) && pointer === "#")) return false;
    throw invalidSchema(pointerTo(pointer, keyword), `the keyword ${JSON.stringify(keyword)} is not supported`);
  });
}

/** Reads a count, such as of characters or items, from `schema[keyword]`. */
export function countKeyword(schema: SchemaObject, keyword: string, pointer: string, max: number): number | undefined {
  if (!(keyword in schema)) return undefined;
  const value = schema[keyword];
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw invalidSchema(pointerTo(pointer, keyword), `${keyword} must be an integer from 0 to ${max}`);
}
