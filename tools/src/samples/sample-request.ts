import type { ExactExamples } from "./exact-examples.js";
import { Verbatim } from "./literals.js";
import type { Literal } from "./literals.js";
import type { Model, Operation } from "../model/model.js";
import { deref } from "../model/openapi.js";
import type { MediaType, OpenApi, OperationObject, RequestBodyObject, Schema } from "../model/openapi.js";
import type { Parameter } from "../model/parameters.js";
import { at } from "../model/pointer.js";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";

/** One request of an operation, made of its examples, before a language writes it. */
export interface SampleRequest {
  operation: Operation;
  /** The first server of the document. */
  baseUrl: string;
  /** Without the query. */
  url: string;
  /** Begins with a question mark unless it is empty. */
  query: string;
  /** How the key is sent; absent for public operations. */
  authentication?: "basic" | "bearer";
  /** Required parameters. */
  parameters: SampleParameter[];
  body?: SampleBody;
  /** How the success response is read. */
  response: "json" | "jsonl" | "sse" | "bytes" | "none";
}

export interface SampleParameter {
  name: string;
  in: Parameter["in"];
  value: Literal;
}

export type SampleBody =
  | { kind: "json"; value: Literal }
  /** Text fields, then one file with this content in the example. */
  | { kind: "form"; fields: Record<string, string>; file: { name: string; content: string } }
  /** Bytes of a file. */
  | { kind: "file"; mediaType: string };

/** The file that samples read or write. */
export const sampleFile = "file.bin";

/** `streamed`: the request for a stream, of an operation that also responds with one document. */
export function sampleRequest(
  { document, interface: name }: Model,
  operation: Operation,
  { examples, streamed }: { examples: ExactExamples; streamed: boolean },
): SampleRequest {
  const baseUrl = document.servers?.[0]?.url;
  if (baseUrl === undefined) throw new UnsupportedSpecError("/servers", "samples need the URL of a server");
  const parameters = operation.params.filter(({ required }) => required).map(sampleParameter);
  const body = sampleBody(document, operation, examples);
  if (streamed && body?.kind === "json") body.value = { ...(body.value as Record<string, Literal>), stream: true };
  return {
    operation,
    baseUrl,
    url: baseUrl + pathOf(operation.path, parameters),
    query: queryOf(parameters),
    ...(!operation.public && { authentication: name === "training" ? "bearer" : "basic" }),
    parameters,
    ...(body && { body }),
    response: responseKind(operation, streamed),
  };
}

/** A parameter as text; an array has one text per item. */
export function parameterTexts({ value }: SampleParameter): string[] {
  return [value].flat().map(textOf);
}

/** A value as a parameter or a part of a form has it. */
export function textOf(value: Literal): string {
  if (value instanceof Verbatim) return value.text;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function sampleParameter({ name, in: location, example, pointer }: Parameter): SampleParameter {
  if (example === undefined) throw new UnsupportedSpecError(pointer, "samples need an example of a required parameter");
  return { name, in: location, value: example as Literal };
}

function pathOf(path: string, parameters: SampleParameter[]): string {
  return path.replaceAll(/\{([^}]*)\}/g, (_, name: string) => {
    const parameter = parameters.find((one) => one.in === "path" && one.name === name)!;
    return parameterTexts(parameter).map(encodeURIComponent).join(",");
  });
}

function queryOf(parameters: SampleParameter[]): string {
  const pairs = parameters
    .filter((one) => one.in === "query")
    .flatMap((parameter) => parameterTexts(parameter).map((text) => `${parameter.name}=${queryValue(text)}`));
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

/** Names of projects and references stay readable: a query may contain slashes and colons. */
function queryValue(text: string): string {
  return encodeURIComponent(text).replaceAll("%2F", "/").replaceAll("%3A", ":");
}

function responseKind({ success, stream }: Operation, streamed: boolean): SampleRequest["response"] {
  if (streamed && stream) return stream;
  const kinds = success.contents.map(({ kind }) => kind);
  return kinds.includes("json") ? "json" : (kinds[0] ?? "none");
}

function sampleBody(document: OpenApi, operation: Operation, examples: ExactExamples): SampleBody | undefined {
  const { body, pointer } = operation;
  if (body === undefined) return undefined;
  const { requestBody } = deref<OperationObject>(document, { $ref: `#${pointer}` }, pointer).value;
  const location = at(pointer, "requestBody");
  const { content } = deref<RequestBodyObject>(document, requestBody!, location).value;
  const isJson = "application/json" in content;
  const mediaType = isJson ? "application/json" : body.mediaTypes[0]!;
  if (body.kind === "raw" && !isJson) return { kind: "file", mediaType };
  const value = firstExample(document, content[mediaType] ?? {}, examples);
  if (value === undefined) {
    if (!body.required) return undefined;
    throw new UnsupportedSpecError(location, `samples need an example of the body as ${mediaType}`);
  }
  if (body.kind === "multipart") return formOf(document, body.schema!, body.pointer, value as Record<string, Literal>);
  return { kind: "json", value };
}

/** The value of the first of `examples`, with its exact numbers where they are known, else `example`. */
function firstExample(document: OpenApi, media: MediaType, examples: ExactExamples): Literal | undefined {
  for (const [name, example] of Object.entries(media.examples ?? {})) {
    const { value, pointer } = deref<{ value?: Literal }>(document, example as { value?: Literal }, name);
    if (value.value !== undefined) return examples.get(pointer.split("/").at(-1)!) ?? value.value;
  }
  return media.example as Literal | undefined;
}

/** Optional fields are left out: what they state of the file in the example, such as its digest, is wrong for another. */
function formOf(document: OpenApi, schema: Schema, pointer: string, value: Record<string, Literal>): SampleBody {
  const { properties = {}, required = [] } = deref<Schema>(document, schema, pointer).value;
  const file = required.find((name) => properties[name]?.format === "binary");
  if (file === undefined) throw new UnsupportedSpecError(pointer, "samples need one required file in a form");
  const texts = required.filter((name) => name !== file).map((name) => [name, textOf(value[name]!)]);
  return { kind: "form", fields: Object.fromEntries(texts), file: { name: file, content: textOf(value[file]!) } };
}
