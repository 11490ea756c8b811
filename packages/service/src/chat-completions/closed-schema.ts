import { isJsonObject } from "@heddle/exact-json";

/** Keywords whose value is a schema, a list of schemas, or an object of schemas. */
const one = new Set(["items", "additionalItems", "contains", "not", "if", "then", "else", "propertyNames"]);
const several = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"]);
const named = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/** A copy of a JSON Schema in which objects that do not state `additionalProperties` have none. */
export function closedSchema(schema: unknown): unknown {
  if (!isJsonObject(schema)) return schema;
  const closed: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) closed[key] = closedValue(key, value);
  const isOfObjects = schema["type"] === "object" || isJsonObject(schema["properties"]);
  if (isOfObjects && !("additionalProperties" in schema)) closed["additionalProperties"] = false;
  return closed;
}

function closedValue(key: string, value: unknown): unknown {
  if (Array.isArray(value)) return several.has(key) ? value.map(closedSchema) : value;
  if (!isJsonObject(value)) return value;
  if (named.has(key))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, closedSchema(each)]));
  return one.has(key) || key === "additionalProperties" ? closedSchema(value) : value;
}
