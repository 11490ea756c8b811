import * as fc from "fast-check";
import type { Schema } from "../spec-requests.js";
import { oddText, rawObject, rawValue } from "./raw-texts.js";

/** Values for a property of this name, in place of what its schema alone would allow. */
export type Words = (name: string) => fc.Arbitrary<unknown> | undefined;

export interface SchemaContext {
  schemas: Record<string, Schema>;
  words: Words;
  /** What was made of named schemas: one that holds itself would be made anew for each of its branches. */
  generated: Map<string, fc.Arbitrary<unknown>>;
}

/** Values that fit a schema of the spec. `depth` bounds schemas that hold themselves. */
export function fromSchema(schema: Schema, context: SchemaContext, name = "", depth = 5): fc.Arbitrary<unknown> {
  const inner = (part: Schema, partName = name) => fromSchema(part, context, partName, depth - 1);
  if (schema["x-heddle-raw-json"]) return schema.type === "object" ? rawObject : rawValue;
  if (schema.$ref !== undefined) {
    const target = context.schemas[schema.$ref.slice("#/components/schemas/".length)];
    if (target === undefined) throw new Error(`no schema at ${schema.$ref}`);
    const key = [schema.$ref, name, depth].join(" ");
    const generated = context.generated.get(key) ?? fromSchema(target, context, name, depth);
    context.generated.set(key, generated);
    return generated;
  }
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.allOf !== undefined) {
    return fc
      .tuple(...schema.allOf.map((part) => inner(part)))
      .map((parts) => Object.assign({}, ...(parts as object[])));
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    // The last levels take the shapes that hold no further ones.
    const flat = choices.filter((choice) => !holdsOthers(choice, context));
    const open = depth > 0 || flat.length === 0 ? choices : flat;
    return fc.oneof(...open.map((choice) => fromSchema(choice, context, name, depth - 1)));
  }
  const types = [schema.type ?? []].flat();
  const known = types.some((type) => ["string", "number", "integer"].includes(type)) ? context.words(name) : undefined;
  const untyped = types.map((type) => ofType(type, schema, inner));
  if (known !== undefined) return fc.oneof({ arbitrary: known, weight: 12 }, ...untyped);
  return untyped.length === 0 ? fc.jsonValue({ maxDepth: 2 }) : fc.oneof(...untyped);
}

function ofType(
  type: string,
  schema: Schema,
  inner: (part: Schema, name?: string) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  switch (type) {
    case "object":
      return objectOf(schema, inner);
    case "array": {
      if (schema.prefixItems !== undefined) return fc.tuple(...schema.prefixItems.map((part) => inner(part)));
      const [minLength, maxLength] = [limit(schema, "minItems") ?? 0, limit(schema, "maxItems") ?? 4];
      return fc.array(schema.items === undefined ? rawValue : inner(schema.items), { minLength, maxLength });
    }
    case "string":
      return textOf(schema);
    case "integer":
    case "number": {
      const [min, max] = [limit(schema, "minimum") ?? -(2 ** 53), limit(schema, "maximum") ?? 2 ** 53];
      const small = fc.integer({ min: Math.ceil(Math.max(min, -2)), max: Math.floor(Math.min(max, 100)) });
      if (type === "integer") return fc.oneof({ arbitrary: small, weight: 4 }, fc.constantFrom(min, max));
      return fc.oneof(small, fc.double({ min, max, noNaN: true }));
    }
    case "boolean":
      return fc.boolean();
    default:
      return fc.constant(null);
  }
}

function objectOf(
  schema: Schema,
  inner: (part: Schema, name?: string) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  const { properties = {}, additionalProperties, required = [] } = schema;
  const known = Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, inner(part, name)]));
  // Many optional properties at once would contradict each other: most are left out.
  const optional = Object.keys(known).filter((name) => !required.includes(name));
  const most = Math.min(4, optional.length);
  const base = fc
    .tuple(
      fc.record(known, { noNullPrototype: true }),
      fc.oneof(
        { arbitrary: fc.subarray(optional, { minLength: Math.min(1, optional.length), maxLength: most }), weight: 3 },
        fc.constant<string[]>([]),
      ),
    )
    .map(([all, kept]) =>
      Object.fromEntries(Object.entries(all).filter(([name]) => required.includes(name) || kept.includes(name))),
    );
  if (typeof additionalProperties !== "object") return base;
  return fc
    .tuple(base, fc.dictionary(oddText, inner(additionalProperties), { maxKeys: 2 }))
    .map(([own, others]) => ({ ...others, ...own }));
}

function textOf(schema: Schema): fc.Arbitrary<string> {
  const [min, max] = [limit(schema, "minLength") ?? 0, limit(schema, "maxLength") ?? 400];
  const { pattern } = schema;
  if (typeof pattern === "string") return fc.stringMatching(new RegExp(pattern, "u"), { size: "-1" });
  return oddText.filter((text) => text.length >= min && text.length <= max);
}

function holdsOthers(schema: Schema, { schemas }: SchemaContext): boolean {
  const named = schema.$ref?.slice("#/components/schemas/".length);
  const target = named === undefined ? schema : schemas[named];
  return /"(items|prefixItems|anyOf|oneOf|\$ref)"/.test(JSON.stringify(target?.properties ?? target ?? {}));
}

function limit(schema: Schema, keyword: string): number | undefined {
  const value = schema[keyword];
  return typeof value === "number" ? value : undefined;
}
