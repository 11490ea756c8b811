import { deref } from "../model/openapi.js";
import type { OpenApi, Schema } from "../model/openapi.js";

/**
 * A copy of the document for the comments of generated types: limits that a description leaves out follow it, and a
 * property without a description of its own has that of the schema it refers to.
 */
export function withSchemaDocs(document: OpenApi): OpenApi {
  const copy = structuredClone(document);
  const properties = [...schemasIn(copy)].flatMap(({ properties: named }) => Object.values(named ?? {}));
  for (const property of properties) {
    const target = property.$ref === undefined ? property : deref<Schema>(document, property, "").value;
    const description = documentationOf({ ...target, ...property });
    if (description !== "") property.description = description;
  }
  return copy;
}

function documentationOf(schema: Schema): string {
  const description = schema.description?.trim() ?? "";
  const limits = limitsOf(schema).filter(({ numbers }) => numbers.some((number) => !states(description, number)));
  return [description, ...limits.map(({ text }) => text)].filter((text) => text !== "").join("\n\n");
}

interface LimitSentence {
  text: string;
  numbers: number[];
}

function limitsOf(schema: Schema): LimitSentence[] {
  return [
    ...range(schema, "minimum", "maximum", ""),
    ...range(schema, "minLength", "maxLength", " characters"),
    ...range(
      schema,
      "minItems",
      schema["x-heddle-max-items"] === undefined ? "maxItems" : "x-heddle-max-items",
      " items",
    ),
  ];
}

/** Lower limits of 0 and 1 are what a reader expects. */
function range(schema: Schema, lower: string, upper: string, unit: string): LimitSentence[] {
  const [min, max] = [schema[lower], schema[upper]].map((limit) =>
    typeof limit === "number" && Number.isSafeInteger(Math.ceil(limit)) ? limit : undefined,
  );
  if (max !== undefined && min !== undefined) {
    const text = min === max ? `Exactly ${max}${unit}.` : `From ${min} to ${max}${unit}.`;
    return [{ text, numbers: [min, max] }];
  }
  if (max !== undefined) return [{ text: `At most ${max}${unit}.`, numbers: [max] }];
  return min === undefined || min === 0 || min === 1 ? [] : [{ text: `At least ${min}${unit}.`, numbers: [min] }];
}

/** Whether the text has the number, with or without commas between thousands. */
function states(text: string, number: number): boolean {
  const numbers = text.replaceAll(/(?<=\d),(?=\d{3})/g, "").match(/-?\d+(\.\d+)?/g) ?? [];
  return numbers.some((each) => Number(each) === number);
}

function* schemasIn(value: unknown): Generator<Schema> {
  if (typeof value !== "object" || value === null) return;
  if ("properties" in value) yield value as Schema;
  for (const [key, child] of Object.entries(value)) {
    if (!dataKeywords.has(key)) yield* schemasIn(child);
  }
}

/** Keywords whose value is data, not a schema. */
const dataKeywords = new Set(["example", "examples", "default", "enum", "const"]);
