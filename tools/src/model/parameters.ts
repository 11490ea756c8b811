import { deref, typesOf } from "./openapi.js";
import type { OpenApi, OperationObject, ParameterObject, PathItem, Schema } from "./openapi.js";
import { at } from "./pointer.js";
import { UnsupportedSpecError } from "./unsupported-spec-error.js";

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description: string;
  /** As in the document, possibly a `$ref`. */
  schema: Schema;
  /** What one value is made of; an array repeats its key (`?id=a&id=b`). */
  type: "string" | "integer" | "number" | "boolean";
  array: boolean;
  default?: unknown;
  /** A valid example. */
  example?: unknown;
  pointer: string;
}

const parameterLocations = ["path", "query", "header"] as const;
const scalarTypes = ["string", "integer", "number", "boolean"] as const;

/** Parameters of the path and of the operation; the operation's win. Checked against the names in the path. */
export function readParameters(
  document: OpenApi,
  path: string,
  item: PathItem,
  operation: OperationObject,
  pointer: string,
): Parameter[] {
  const itemPointer = pointer.slice(0, pointer.lastIndexOf("/"));
  const found = new Map<string, Parameter>();
  for (const [list, owner] of [
    [item.parameters, itemPointer],
    [operation.parameters, pointer],
  ] as const) {
    for (const [index, value] of (list ?? []).entries()) {
      const resolved = deref<ParameterObject>(document, value, at(owner, "parameters", index));
      const parameter = readParameter(document, resolved.value, resolved.pointer);
      found.set(`${parameter.in} ${parameter.name}`, parameter);
    }
  }
  const parameters = [...found.values()];
  const inPath = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name);
  for (const name of inPath) {
    if (!parameters.some((parameter) => parameter.in === "path" && parameter.name === name)) {
      throw new UnsupportedSpecError(pointer, `the path names {${name}}, which is not declared as a path parameter`);
    }
  }
  for (const { in: location, name, pointer: where } of parameters) {
    if (location === "path" && !inPath.includes(name))
      throw new UnsupportedSpecError(where, `the path does not contain {${name}}`);
  }
  return parameters;
}

function readParameter(document: OpenApi, parameter: ParameterObject, pointer: string): Parameter {
  const location = parameterLocations.find((candidate) => candidate === parameter.in);
  if (location === undefined)
    throw new UnsupportedSpecError(at(pointer, "in"), `parameters in "${parameter.in}" are not supported`);
  if (parameter.schema === undefined) throw new UnsupportedSpecError(pointer, "a parameter is described by a schema");
  const style = location === "query" ? "form" : "simple";
  if (parameter.style !== undefined && parameter.style !== style) {
    throw new UnsupportedSpecError(at(pointer, "style"), `only the style "${style}" is supported here`);
  }
  const schema = deref<Schema>(document, parameter.schema, at(pointer, "schema"));
  const array = typesOf(schema.value).includes("array");
  if (array && (location !== "query" || parameter.explode === false)) {
    throw new UnsupportedSpecError(pointer, "a list is supported in the query only, with its key repeated");
  }
  const one = array ? deref<Schema>(document, schema.value.items ?? {}, at(schema.pointer, "items")) : schema;
  return {
    name: parameter.name,
    in: location,
    required: parameter.required === true,
    description: parameter.description ?? "",
    schema: parameter.schema,
    type: scalarType(one.value, one.pointer),
    array,
    ...("default" in schema.value && { default: schema.value.default }),
    ...("example" in parameter && { example: parameter.example }),
    pointer,
  };
}

function scalarType(schema: Schema, pointer: string): Parameter["type"] {
  const named = typesOf(schema).filter((type) => type !== "null");
  const type = scalarTypes.find((candidate) => candidate === named[0]);
  if (type === undefined || named.length > 1) {
    throw new UnsupportedSpecError(
      pointer,
      "a parameter is one of string, integer, number, boolean, or a list of one of them",
    );
  }
  return type;
}
