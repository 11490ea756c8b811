import { deref } from "../../model/openapi.js";
import type { OpenApi, Schema } from "../../model/openapi.js";
import { blocks, codeSpan, table } from "../page/markdown-text.js";
import { fieldsOf } from "./fields.js";
import { typeText } from "./type-text.js";
import type { LinkTo } from "./type-text.js";

/** What a schema allows: a table of fields, a list of alternatives, or the type of the value. Its description is not part. */
export function schemaText(document: OpenApi, schema: Schema, link: LinkTo): string {
  const { value } = deref<Schema>(document, schema, "");
  const alternatives = value.anyOf ?? value.oneOf;
  const fields = fieldsOf(document, value);
  if (alternatives !== undefined) {
    return blocks(alternativesText(document, value, alternatives, link), fieldTable(document, value, link));
  }
  if (fields.length > 0) return fieldTable(document, value, link);
  const { description: _, ...bare } = value;
  return `Type: ${typeText(document, bare, link)}.`;
}

function fieldTable(document: OpenApi, schema: Schema, link: LinkTo): string {
  const fields = fieldsOf(document, schema);
  if (fields.length === 0) return "";
  const rows = fields.map(({ path, schema: type, required, description }) => [
    required ? `${codeSpan(path)} *required*` : codeSpan(path),
    typeText(document, type, link),
    description,
  ]);
  return blocks(
    table(["Field", "Type", "Description"], rows),
    schema.additionalProperties === false || schema.unevaluatedProperties === false
      ? "Other keys are refused."
      : undefined,
    schema["x-heddle-raw-json"] ? "The value is free JSON: it is kept as the text that was sent." : undefined,
  );
}

function alternativesText(document: OpenApi, schema: Schema, alternatives: Schema[], link: LinkTo): string {
  const { propertyName, mapping } = (schema["discriminator"] ?? {}) as Discriminator;
  if (propertyName !== undefined && mapping !== undefined) {
    const rows = Object.entries(mapping).map(([value, ref]) => [
      codeSpan(JSON.stringify(value)),
      typeText(document, { $ref: ref }, link),
    ]);
    return blocks(`One of these, as ${codeSpan(propertyName)} says:`, table([codeSpan(propertyName), "Type"], rows));
  }
  const items = alternatives.map((part) => `- ${typeText(document, part, link).replaceAll(/\s*\n\s*/g, " ")}`);
  const by = propertyName === undefined ? "One of:" : `One of these, as ${codeSpan(propertyName)} says:`;
  return blocks(by, items.join("\n"));
}

interface Discriminator {
  propertyName?: string;
  mapping?: Record<string, string>;
}
