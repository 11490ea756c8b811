import { isJsonObject } from "@heddle/exact-json";
import type { SchemaType, SchemaLocation, SchemaObject } from "./keywords.js";
import { invalidSchema, pointerTo } from "./keywords.js";
import type { References } from "./references.js";

const maxDepth = 4;

/** Translates `oneOf` like `anyOf`, which is equivalent only if no value satisfies two of the schemas. */
export function checkOneOf({ schema, pointer }: SchemaLocation<SchemaObject>, refs: References): void {
  const at = pointerTo(pointer, "oneOf");
  if (!Array.isArray(schema.oneOf) || schema.oneOf.length > 64)
    throw invalidSchema(at, "oneOf must be a list of at most 64 schemas");
  const locations = schema.oneOf.map((branch: unknown, index): SchemaLocation => ({
    schema: branch,
    pointer: pointerTo(at, index),
  }));
  for (const [index, one] of locations.entries()) {
    const overlapping = locations.slice(index + 1).find((other) => !disjoint(one, other, refs, 0));
    if (overlapping) {
      throw invalidSchema(
        overlapping.pointer,
        `a value could satisfy this and ${one.pointer} of the oneOf; use anyOf, or a property with different const values`,
      );
    }
  }
}

/** Returns whether provably no value satisfies both schemas. */
function disjoint(first: SchemaLocation, second: SchemaLocation, refs: References, depth: number): boolean {
  const one = resolved(first, refs);
  const other = resolved(second, refs);
  if (!one || !other || depth > maxDepth) return false;
  const [values, otherValues] = [valuesOf(one.schema), valuesOf(other.schema)];
  if (values && otherValues) return !values.some((value) => otherValues.includes(value));
  const [types, otherTypes] = [kindsOf(one.schema), kindsOf(other.schema)];
  if (types && otherTypes && !types.some((type) => otherTypes.includes(type))) return true;
  return sharedNames(one.schema, other.schema).some((name) => {
    const part = (location: SchemaLocation<SchemaObject>): SchemaLocation => ({
      schema: isJsonObject(location.schema.properties) ? location.schema.properties[name] : undefined,
      pointer: pointerTo(location.pointer, "properties", name),
    });
    return disjoint(part(one), part(other), refs, depth + 1);
  });
}

function resolved(location: SchemaLocation, refs: References): SchemaLocation<SchemaObject> | undefined {
  let { schema, pointer } = location;
  for (let steps = 0; isJsonObject(schema) && "$ref" in schema; steps++) {
    if (steps > 32) return undefined;
    ({ schema, pointer } = refs.target(schema.$ref, pointer));
  }
  return isJsonObject(schema) ? { schema, pointer } : undefined;
}

function valuesOf(schema: SchemaObject): string[] | undefined {
  if ("const" in schema) return [JSON.stringify(schema.const)];
  return Array.isArray(schema.enum) ? schema.enum.map((value) => JSON.stringify(value)) : undefined;
}

/** Returns the types of the values; an integer is a number. */
function kindsOf(schema: SchemaObject): string[] | undefined {
  if (!("type" in schema)) return valuesOf(schema)?.map(kindOfText);
  const types: unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.map((type) => (type === "integer" ? "number" : String(type)));
}

function kindOfText(text: string): SchemaType {
  const value: unknown = JSON.parse(text);
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "object"
    ? "object"
    : typeof value === "string"
      ? "string"
      : typeof value === "boolean"
        ? "boolean"
        : "number";
}

/** Returns the properties that both schemas require. */
function sharedNames(one: SchemaObject, other: SchemaObject): string[] {
  if (!isJsonObject(one.properties) || !isJsonObject(other.properties)) return [];
  if (one.type !== "object" || other.type !== "object") return [];
  const others = Array.isArray(other.required) ? other.required : [];
  const names: unknown[] = Array.isArray(one.required) ? one.required : [];
  return names.filter((name): name is string => typeof name === "string" && others.includes(name));
}
