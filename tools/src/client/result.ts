import type { Operation } from "../model/model.js";
import type { Schema } from "../model/openapi.js";
import { componentName, deref } from "../model/openapi.js";
import type { OpenApi } from "../model/openapi.js";
import type { Content } from "../model/payloads.js";
import type { Input } from "./input.js";
import type { RawPlanTable } from "./raw-plans.js";

/** How an operation's response is read, and its types. */
export interface Result {
  /** Run-time functions that the body uses. */
  readers: string[];
  /** Exported types; `name` follows the operation's type name. */
  types: { name: string; type: string }[];
  /** `narrowing` follows the input's type; more than one when an input property, or the option `raw`, decides the response. */
  overloads: { narrowing: string; raw?: true; type: (typeName: string) => string }[];
  /** Signature of the implementation, after the overloads. */
  implementation(typeName: string, input: Input): string;
  /** Statements, given the expression of the outgoing request. */
  body(outgoing: string): string[];
}

export function resultOf(operation: Operation, document: OpenApi): Result {
  const { contents } = operation.success;
  const stream = contents.find(({ kind }) => kind === "jsonl" || kind === "sse");
  const json = contents.find(({ kind }) => kind === "json");
  if (contents.some(({ kind }) => kind === "bytes")) return single("readBytes", "", "Promise<Uint8Array>");
  if (stream && json) return chosenByInput(operation, stream, json);
  if (stream) return single(readerOf(stream), contentType(operation, stream), "AsyncIterable", "Item");
  if (!json) return single("readJson", "", "Promise<void>");
  if (isPage(operation, json, document)) return pages(operation, json, document);
  return single("readJson", contentType(operation, json), "Promise", "Result");
}

/** The same with an overload for requests whose free JSON stays text, where there is any. */
export function withRaw(result: Result, { id }: Operation, { entries, operations }: RawPlanTable): Result {
  const plan = operations.get(id);
  if (plan === undefined) return result;
  const [overload, more] = result.overloads;
  const [type] = result.types;
  if (overload === undefined || type === undefined || more !== undefined)
    throw new Error("free JSON where the request decides the response is not supported");
  // Of a cursor list, each item by itself.
  const list = entries[plan]?.properties?.["data"];
  const item = result.readers.includes("readPages") && list !== undefined ? entries[list]?.items : plan;
  const name = `Raw${type.name}`;
  const both = (typeName: string) => overload.type(typeName).replace(/>$/, ` | ${typeName}${name}>`);
  return {
    ...result,
    types: [...result.types, { name, type: `WithRaw<${type.type}, Plan${item}>` }],
    // `ReturnType` is of the last.
    overloads: [{ narrowing: "", raw: true, type: (typeName) => overload.type(`${typeName}Raw`) }, overload],
    implementation: (typeName, { type: input, optional }) =>
      `${input ? `input${optional ? "?" : ""}: ${typeName}Input, ` : ""}options?: AnyRequestOptions): ${both(typeName)}`,
  };
}

function single(reader: string, type: string, wrapper: string, name = ""): Result {
  return {
    readers: [reader],
    types: type ? [{ name, type }] : [],
    overloads: [{ narrowing: "", type: (typeName) => (type ? `${wrapper}<${typeName}${name}>` : wrapper) }],
    implementation: () => "",
    body: (outgoing) => [`return ${reader}(connection, ${outgoing}, options);`],
  };
}

// Chat completions return one document, or events when the request has `stream: true`.
function chosenByInput(operation: Operation, stream: Content, json: Content): Result {
  const reader = readerOf(stream);
  return {
    readers: ["readJson", reader],
    types: [
      { name: "Result", type: contentType(operation, json) },
      { name: "Item", type: contentType(operation, stream) },
    ],
    overloads: [
      { narrowing: " & { stream: true }", type: (name) => `AsyncIterable<${name}Item>` },
      { narrowing: " & { stream?: false | null }", type: (name) => `Promise<${name}Result>` },
    ],
    implementation: (name) =>
      `input: ${name}Input, options?: RequestOptions): AsyncIterable<${name}Item> | Promise<${name}Result>`,
    body: (outgoing) => [
      `const outgoing = ${outgoing};`,
      `return input.stream ? ${reader}(connection, outgoing, options) : readJson(connection, outgoing, options);`,
    ],
  };
}

function pages(operation: Operation, json: Content, document: OpenApi): Result {
  return {
    ...single("readPages", itemType(operation, json, document), "AsyncIterable", "Item"),
    readers: ["readJson", "readPages"],
    body: (outgoing) => [`return readPages((input) => readJson(connection, ${outgoing}, options), input);`],
  };
}

/** A list with a cursor: `after` in the request, `data` and `has_more` in the response. */
function isPage(operation: Operation, json: Content, document: OpenApi): boolean {
  if (!operation.params.some((each) => each.in === "query" && each.name === "after")) return false;
  const { value } = deref<Schema>(document, json.schema!, json.pointer);
  return value.properties?.data !== undefined && value.properties.has_more !== undefined;
}

function readerOf(stream: Content): string {
  return stream.kind === "jsonl" ? "readJsonLines" : "readEvents";
}

function itemType(operation: Operation, json: Content, document: OpenApi): string {
  const { value: page } = deref<Schema>(document, json.schema!, json.pointer);
  return componentName(page.properties?.data?.items ?? {}) ?? `${contentType(operation, json)}["data"][number]`;
}

function contentType({ id, success }: Operation, { mediaType, schema }: Content): string {
  const indexed = `operations["${id}"]["responses"][${success.status}]["content"]["${mediaType}"]`;
  return componentName(schema ?? {}) ?? indexed;
}
