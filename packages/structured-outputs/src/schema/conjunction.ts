import { isJsonObject } from "@heddle/exact-json";
import type { SchemaLocation, SchemaObject, SchemaType } from "./keywords.js";
import { effectiveKeywords, invalidSchema, pointerTo, schemaTypes, typeKeywords } from "./keywords.js";
import type { References } from "./references.js";

/** Schemas of which a value has to satisfy all. */
export type Conjunction = readonly SchemaLocation[];

/** A conjunction without references and `allOf`, none of whose schemas is `true`. */
export type Parts = readonly SchemaLocation<SchemaObject>[];

/** Follows references and `allOf`, also beside other keywords. */
export function partsOf(conjunction: Conjunction, refs: References): Parts {
  const parts = new Map<string, SchemaLocation<SchemaObject>>();
  for (const location of conjunction) add(location, new Set());
  return [...parts.values()];

  function add({ schema, pointer, key = pointer }: SchemaLocation, path: ReadonlySet<string>): void {
    if (schema === true) return;
    if (schema === false) throw invalidSchema(pointer, "false allows no value");
    if (!isJsonObject(schema)) throw invalidSchema(pointer, "a schema is an object or true");
    if (path.has(key)) throw invalidSchema(pointer, "its references form a cycle");
    const inner = new Set([...path, key]);
    const { $ref, allOf: _, ...rest } = schema;
    if ("$ref" in schema) add(refs.target($ref, pointer), inner);
    if ("allOf" in schema) for (const branch of branchesOf({ schema, pointer }, "allOf")) add(branch, inner);
    effectiveKeywords({ schema, pointer });
    if (effectiveKeywords({ schema: rest, pointer }).length > 0) parts.set(key, { schema: rest, pointer, key });
  }
}

export function keyOf(parts: Parts): string {
  return parts
    .map(({ key, pointer }) => key ?? pointer)
    .toSorted()
    .join("\n");
}

export function branchesOf({ schema, pointer }: SchemaLocation<SchemaObject>, keyword: string): SchemaLocation[] {
  const list = schema[keyword];
  const at = pointerTo(pointer, keyword);
  if (!Array.isArray(list) || list.length === 0) throw invalidSchema(at, `${keyword} must be a list of schemas`);
  return list.map((branch: unknown, index) => ({ schema: branch, pointer: pointerTo(at, index) }));
}

/** Returns the first part that has alternatives, the keyword of these, and what else has to be satisfied. */
export function alternativesOf(
  parts: Parts,
): { part: SchemaLocation<SchemaObject>; keyword: "anyOf" | "oneOf"; others: Parts } | undefined {
  for (const part of parts) {
    const keyword = (["anyOf", "oneOf"] as const).find((each) => each in part.schema);
    if (!keyword) continue;
    const { [keyword]: _, ...schema } = part.schema;
    const others = parts.filter((each) => each !== part);
    const rest = { schema, pointer: part.pointer, key: `${part.key ?? part.pointer} without ${keyword}` };
    const restricts = effectiveKeywords(rest).length > 0;
    return { part, keyword, others: restricts ? [...others, rest] : others };
  }
  return undefined;
}

/** Returns the types that all schemas allow, or else those that their keywords apply to. Undefined means any type. */
export function typesOf(parts: Parts): SchemaType[] | undefined {
  const named = parts.filter(({ schema }) => "type" in schema).map(namedTypes);
  if (named.length > 0) {
    return named.reduce((allowed, types) => [
      ...new Set(allowed.flatMap((type) => types.flatMap((other) => narrower(type, other)))),
    ]);
  }
  const keywords = new Set(parts.flatMap(({ schema }) => Object.keys(schema)));
  const implied = schemaTypes.filter((type) => typeKeywords[type].some((keyword) => keywords.has(keyword)));
  return implied.length === 0 ? undefined : implied.filter((type) => type !== "integer");
}

function narrower(type: SchemaType, other: SchemaType): SchemaType[] {
  if (type === other) return [type];
  const numbers = [type, other].toSorted().join(" ");
  return numbers === "integer number" ? ["integer"] : [];
}

function namedTypes({ schema, pointer }: SchemaLocation<SchemaObject>): SchemaType[] {
  const named: unknown[] = Array.isArray(schema.type) ? schema.type : [schema.type];
  const types = schemaTypes.filter((type) => named.includes(type));
  if (types.length === 0 || types.length !== new Set(named).size) {
    throw invalidSchema(pointerTo(pointer, "type"), `type must be one or several of ${schemaTypes.join(", ")}`);
  }
  return types.includes("number") ? types.filter((type) => type !== "integer") : types;
}

/** Returns the parts that have the keyword. */
export function having(parts: Parts, keyword: string): Parts {
  return parts.filter(({ schema }) => keyword in schema);
}
