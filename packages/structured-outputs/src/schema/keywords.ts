import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";

/** A JSON schema that is an object. */
export type SchemaObject = Record<string, unknown>;

/** A schema and its location as a JSON pointer fragment (`#/properties/a`). */
export interface SchemaLocation<Schema = unknown> {
  schema: Schema;
  pointer: string;
}

export const schemaTypes = ["object", "array", "string", "number", "integer", "boolean", "null"] as const;
export type SchemaType = (typeof schemaTypes)[number];

/** Keywords without effect on the value. */
const annotations = [
  "title",
  "description",
  "default",
  "examples",
  "example",
  "deprecated",
  "readOnly",
  "writeOnly",
  "$comment",
];
/** Keywords that are valid only at the root of the schema. */
const rootOnly = new Set(["$schema", "$id", "id"]);
const definitions = ["$defs", "definitions"];

/** Keywords of each type. */
export const typeKeywords: Record<SchemaType, readonly string[]> = {
  object: ["properties", "required", "additionalProperties", "unevaluatedProperties"],
  array: ["items", "prefixItems", "minItems", "maxItems", "unevaluatedItems", "uniqueItems"],
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  boolean: [],
  null: [],
};

/** Keywords that exclude all others except those listed. */
export const exclusiveKeywords: ReadonlyMap<string, readonly string[]> = new Map([
  ["$ref", []],
  ["const", ["type", "enum"]],
  ["enum", ["type", "const"]],
  ["anyOf", []],
  ["oneOf", ["discriminator"]],
  ["allOf", []],
]);

const known = new Set([...Object.values(typeKeywords).flat(), ...exclusiveKeywords.keys(), "type", "discriminator"]);
const ignoredKeywords = new Set([...annotations, ...definitions]);

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

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the keywords of a schema that constrain the value. Throws `invalid` for an unsupported keyword. */
export function effectiveKeywords({ schema, pointer }: SchemaLocation<SchemaObject>): string[] {
  return Object.keys(schema).filter((keyword) => {
    if (ignoredKeywords.has(keyword) || keyword.startsWith("x-")) return false;
    if (rootOnly.has(keyword) && pointer === "#") return false;
    if (known.has(keyword)) return true;
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
