import { isJsonObject } from "@heddle/exact-json";
import { alternation } from "../alternation.js";
import { literal } from "../ebnf.js";
import { jsonValidator } from "./json-validator.js";
import type { Parts } from "./conjunction.js";
import { having, typesOf } from "./conjunction.js";
import type { SchemaType } from "./keywords.js";
import { invalidSchema, pointerTo } from "./keywords.js";

const plain = new Set(["type", "const", "enum"]);

/** Returns the JSON texts of the values if the schemas list them. `root` has what they refer to. */
export function listedValues(parts: Parts, root: unknown): string[] | undefined {
  const listing = parts.filter(({ schema }) => "enum" in schema || "const" in schema);
  const [first] = listing;
  if (!first) return undefined;
  const lists = listing.flatMap(({ schema, pointer }) => {
    const at = pointerTo(pointer, "enum");
    if ("enum" in schema && (!Array.isArray(schema.enum) || schema.enum.length === 0))
      throw invalidSchema(at, "enum must be a list of values");
    const values: unknown[][] = Array.isArray(schema.enum) ? [schema.enum] : [];
    return "const" in schema ? [...values, [schema.const]] : values;
  });
  const types = typesOf(having(parts, "type"));
  const texts = (lists[0] ?? [])
    .filter((value) => types === undefined || types.some((type) => hasType(value, type)))
    .map((value) => JSON.stringify(value));
  const others = lists.slice(1).map((list) => new Set(list.map((value) => JSON.stringify(value))));
  const common = [...new Set(texts)].filter((text) => others.every((list) => list.has(text)));
  const fitting = satisfying(common, parts, root);
  if (fitting.length > 0) return fitting;
  const at = pointerTo(first.pointer, "enum" in first.schema ? "enum" : "const");
  throw invalidSchema(at, "no value of the list satisfies the schema");
}

export function valuesBody(values: readonly string[]): string {
  return alternation(values.map(literal));
}

/** Keeps the values that satisfy the other keywords. */
function satisfying(texts: string[], parts: Parts, root: unknown): string[] {
  const restricted = parts.some(({ schema }) => Object.keys(schema).some((keyword) => !plain.has(keyword)));
  if (!restricted || texts.length === 0) return texts;
  const { $defs, definitions } = isJsonObject(root) ? root : {};
  const check = jsonValidator({
    ...($defs !== undefined && { $defs }),
    ...(definitions !== undefined && { definitions }),
    allOf: parts.map(({ schema }) => schema),
  });
  return texts.filter((text) => check(text) === undefined);
}

function hasType(value: unknown, type: SchemaType): boolean {
  switch (type) {
    case "object":
      return isJsonObject(value);
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
