import { componentName, deref } from "../../model/openapi.js";
import type { OpenApi, Schema } from "../../model/openapi.js";
import { firstParagraph } from "../page/markdown-text.js";

/** One property, or a property of an object that is described in place. */
export interface Field {
  /** `start.project_id`, `items[].id`; `*` is any other key. */
  path: string;
  schema: Schema;
  /** In the object that has it. */
  required: boolean;
  description: string;
}

/** The fields of an object, those of the parts of its `allOf` included. Objects with a name of their own are one field. */
export function fieldsOf(document: OpenApi, schema: Schema, prefix = ""): Field[] {
  const { value } = deref<Schema>(document, schema, "");
  if (value["x-heddle-raw-json"] && value.properties === undefined) return [];
  const merged = (value.allOf ?? []).flatMap((part) => fieldsOf(document, part, prefix));
  const own = Object.entries(value.properties ?? {}).flatMap(([name, property]) => [
    fieldOf(document, `${prefix}${name}`, property, value.required?.includes(name) === true),
    ...nestedFields(document, property, `${prefix}${name}`),
  ]);
  const { additionalProperties: others } = value;
  const rest =
    typeof others === "object"
      ? [fieldOf(document, `${prefix}*`, others, false), ...nestedFields(document, others, `${prefix}*`)]
      : [];
  return distinct([...merged, ...own, ...rest]);
}

function fieldOf(document: OpenApi, path: string, schema: Schema, required: boolean): Field {
  const { value } = deref<Schema>(document, schema, "");
  // The section on a component has the rest of its description.
  return { path, schema, required, description: schema.description ?? firstParagraph(value.description ?? "") };
}

/** Fields of the objects that a property holds and that have no name. */
function nestedFields(document: OpenApi, schema: Schema, path: string): Field[] {
  if (componentName(schema) !== undefined) return [];
  const alternatives = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return [
    ...(hasFields(schema) ? fieldsOf(document, schema, `${path}.`) : []),
    ...(schema.items === undefined ? [] : nestedFields(document, schema.items, `${path}[]`)),
    ...alternatives.flatMap((part) => nestedFields(document, part, path)),
  ];
}

function hasFields({ properties, allOf, additionalProperties }: Schema): boolean {
  return properties !== undefined || allOf !== undefined || typeof additionalProperties === "object";
}

/** A later part of an `allOf` says more about a field that an earlier one has too. */
function distinct(fields: Field[]): Field[] {
  return [...new Map(fields.map((field) => [field.path, field])).values()];
}
