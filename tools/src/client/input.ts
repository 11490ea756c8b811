import type { Operation } from "../model/model.js";
import type { Schema } from "../model/openapi.js";
import type { Parameter } from "../model/parameters.js";
import { componentName, deref } from "../model/openapi.js";
import type { OpenApi } from "../model/openapi.js";
import { at } from "../model/pointer.js";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";

/** The one input object of an operation: parameters and body properties together, under the names of the API. */
export interface Input {
  /** TypeScript type; undefined when the operation takes nothing. */
  type?: string;
  optional: boolean;
  /** The run-time function that distributes the input over path, query, headers and body. */
  writer: "withQuery" | "withJson" | "withForm" | "withBytes";
  /** The call of `writer`. */
  expression(operation: Operation): string;
}

/** Set by the client itself from the connection, the operation and its options. */
const clientHeaders = new Set(["accept", "authorization", "content-type", "x-weave-retry-id"]);

export function inputOf(operation: Operation, document: OpenApi): Input {
  const { id, body } = operation;
  const params = operation.params.filter((each) => each.in !== "header" || !clientHeaders.has(each.name.toLowerCase()));
  const properties = body?.schema ? propertiesOf(document, body.schema, body.pointer) : {};
  refuseSharedNames(params, Object.keys(properties));
  const parts = [
    ...(["path", "query"] as const)
      .filter((location) => params.some((each) => each.in === location))
      .map((location) => present(`operations["${id}"]["parameters"]["${location}"]`, isRequired(params, location))),
    ...headerPart(id, params),
    ...bodyPart(operation, properties),
  ];
  const writer = ({ json: "withJson", multipart: "withForm", raw: "withBytes" } as const)[body?.kind ?? "json"];
  return {
    ...(parts.length > 0 && { type: parts.join(" & ") }),
    optional: !params.some(({ required }) => required) && !body?.required,
    writer: body ? writer : "withQuery",
    expression: (each) => expression(each, body ? writer : "withQuery", params, parts.length > 0),
  };
}

function expression(operation: Operation, writer: string, params: Parameter[], hasInput: boolean): string {
  const { id, method, path, body } = operation;
  const query = body ? namesIn(params, "query") : [];
  const headers = namesIn(params, "header");
  const locations = [
    ...(query.length > 0 ? [`query: ${JSON.stringify(query)}`] : []),
    ...(headers.length > 0 ? [`headers: ${JSON.stringify(headers)}`] : []),
  ];
  const list = [
    JSON.stringify(id),
    JSON.stringify(`${method.toUpperCase()} ${path}`),
    ...(writer === "withBytes" ? [JSON.stringify(body?.mediaTypes[0])] : []),
    ...(hasInput ? ["input"] : []),
    ...(locations.length > 0 ? [`{ ${locations.join(", ")} }`] : []),
  ];
  return `${writer}(${list.join(", ")})`;
}

function headerPart(id: string, params: Parameter[]): string[] {
  const names = namesIn(params, "header");
  if (names.length === 0) return [];
  const type = present(`operations["${id}"]["parameters"]["header"]`, isRequired(params, "header"));
  return [`Pick<${type}, ${union(names)}>`];
}

function bodyPart({ id, body }: Operation, properties: Record<string, Schema>): string[] {
  if (!body) return [];
  if (body.kind === "raw") return [`RawBodyInput<${union(body.mediaTypes)}>`];
  const indexed = `${present(`operations["${id}"]["requestBody"]`, body.required)}["content"]["${body.mediaTypes[0]}"]`;
  const type = componentName(body.schema ?? {}) ?? indexed;
  const binary = Object.keys(properties).filter((name) => properties[name]?.format === "binary");
  if (binary.length === 0) return [type];
  // The types of the document call bytes a string; what is sent is bytes.
  return [`Omit<${type}, ${union(binary)}> & { [Name in keyof Pick<${type}, ${union(binary)}>]: Blob | Uint8Array }`];
}

/** openapi-typescript marks a location optional when no parameter in it is required. */
function present(type: string, required: boolean): string {
  return required ? type : `NonNullable<${type}>`;
}

function isRequired(params: Parameter[], location: Parameter["in"]): boolean {
  return params.some((each) => each.in === location && each.required);
}

function union(names: string[]): string {
  return names.map((name) => JSON.stringify(name)).join(" | ");
}

/** Properties that a schema names at its top, through references and `allOf`. */
function propertiesOf(document: OpenApi, schema: Schema, pointer: string): Record<string, Schema> {
  const { value, pointer: location } = deref<Schema>(document, schema, pointer);
  const inherited = (value.allOf ?? []).map((part, index) =>
    propertiesOf(document, part, at(location, "allOf", index)),
  );
  return Object.assign({}, ...inherited, value.properties) as Record<string, Schema>;
}

function namesIn(params: Parameter[], location: Parameter["in"]): string[] {
  return params.filter((each) => each.in === location).map(({ name }) => name);
}

function refuseSharedNames(params: Parameter[], properties: string[]): void {
  const seen = new Set(properties);
  for (const { name, pointer } of params) {
    if (seen.has(name))
      throw new UnsupportedSpecError(pointer, `"${name}" is at two locations of one request; rename one`);
    seen.add(name);
  }
}
