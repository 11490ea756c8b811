import { isJsonObject } from "@heddle/exact-json";

const schemas = new Set([
  "items",
  "additionalProperties",
  "additionalItems",
  "unevaluatedProperties",
  "unevaluatedItems",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
  "contains",
]);
const lists = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"]);
const named = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/** Replaces `nullable` of OpenAPI 3.0, which allows null beside the `type` of the same schema and else has no effect. */
export function withoutNullable(schema: unknown): unknown {
  if (!isJsonObject(schema)) return schema;
  const { nullable, ...rest } = schema;
  const entries = Object.entries(rest).map(([keyword, value]): [string, unknown] => {
    if (lists.has(keyword) && Array.isArray(value)) return [keyword, value.map(withoutNullable)];
    if (schemas.has(keyword)) return [keyword, withoutNullable(value)];
    if (keyword === "type" && nullable === true) return [keyword, [...new Set([value, "null"].flat())]];
    if (!named.has(keyword) || !isJsonObject(value)) return [keyword, value];
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutNullable(each)]))];
  });
  return Object.fromEntries(entries);
}
