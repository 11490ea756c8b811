import type { Model, Operation } from "../model/model.js";
import { pascalCase } from "../model/names.js";
import type { Content } from "../model/payloads.js";
import { componentName } from "../model/openapi.js";
import { schemaExports } from "./schema-exports.js";

/** Types of requests, responses and handlers of one document: one interface per group, one method per operation. */
export function handlersText(model: Model): string {
  const name = pascalCase(model.name);
  const operations = model.groups.flatMap((group) => group.operations);
  const parts = [
    ...operations.map(requestType),
    ...operations.map(responseType),
    ...model.groups.map((group) =>
      [
        jsDoc(group.description),
        // A name with an underscore may stay unused.
        `export interface ${group.typeName}Handlers<${group.operations.every((each) => each.public) ? "_Caller" : "Caller"}> {`,
        ...group.operations.map((operation) => indent(`${operationDoc(operation)}${signature(operation)}`)),
        "}",
      ].join("\n"),
    ),
    [
      `/** Everything that a server of ${model.title} can implement, by group. */`,
      `export interface ${name}Handlers<Caller = unknown> {`,
      ...model.groups.map((group) => `  ${group.key}: ${group.typeName}Handlers<Caller>;`),
      "}",
    ].join("\n"),
  ];
  const text = parts.join("\n\n");
  const handlerTypes = ["Bytes", "Incoming", "None", "RawBody", "StreamedBody"].filter((type) =>
    new RegExp(`\\b${type}\\b`).test(text),
  );
  return [
    `import type { ${[...handlerTypes, "SchemasOf"].join(", ")} } from "../operations/handlers.js";`,
    `import type { Outcome } from "../response/reply.js";`,
    ...(text.includes("StreamedEvent<") ? [`import type { StreamedEvent } from "../response/shared-items.js";`] : []),
    `import type * as Requests from "./${model.name}.requests.js";`,
    `import type * as Responses from "./${model.name}.responses.js";`,
    "",
    ...schemaExports(model),
    "",
    "/** Schemas by name. One that both requests and responses use has the form in which it arrives in requests. */",
    `export type Schemas = SchemasOf<Requests.components["schemas"], Responses.components["schemas"]>;`,
    "",
    "/** Schemas by name, in the form that responses have. */",
    `export type ResponseSchemas = Responses.components["schemas"];`,
    "",
    text,
    "",
  ].join("\n");
}

function requestType({ id, typeName, params, body }: Operation): string {
  const has = (location: string) => params.some((param) => param.in === location);
  const part = (location: "path" | "query" | "header") =>
    has(location) ? `NonNullable<Requests.operations["${id}"]["parameters"]["${location}"]>` : "None";
  return [
    `export interface ${typeName}Request extends Incoming {`,
    `  readonly params: ${part("path")};`,
    `  readonly query: ${part("query")};`,
    `  readonly headers: ${part("header")};`,
    `  readonly body: ${bodyType(id, body)};`,
    "}",
  ].join("\n");
}

function bodyType(id: string, body: Operation["body"]): string {
  if (body === undefined) return "undefined";
  if (body.streamed) return "StreamedBody";
  if (body.kind === "raw") return "RawBody";
  const name = componentName(body.schema ?? {});
  const content = `NonNullable<Requests.operations["${id}"]["requestBody"]>["content"]`;
  const type = name === undefined ? `${content}["${body.mediaTypes[0] ?? ""}"]` : `Requests.${name}`;
  return body.required ? type : `${type} | undefined`;
}

function responseType(operation: Operation): string {
  const { typeName, success, stream } = operation;
  // Of server-sent events, a handler may send lines that are not data: ids, and comments. Who follows the same gets the same events.
  const hasEvents = success.contents.some(({ kind }) => kind === "sse");
  const itemType = `${typeName}Item`;
  const itemsType = `AsyncIterable<${hasEvents ? `StreamedEvent<${itemType}>` : itemType}>`;
  const contents = success.contents.map((content) => {
    if (content.kind === "bytes") return "Bytes";
    return content.kind === "json" ? contentType(operation, content) : itemsType;
  });
  const item = success.contents.find(({ kind }) => kind === stream);
  return [
    ...(item ? [`export type ${typeName}Item = ${contentType(operation, item)};`] : []),
    `export type ${typeName}Response = ${[...new Set(contents)].join(" | ") || "void"};`,
  ].join("\n");
}

function contentType({ id, success }: Operation, { mediaType, schema }: Content): string {
  const name = componentName(schema ?? {});
  if (name !== undefined) return `Responses.${name}`;
  return `Responses.operations["${id}"]["responses"][${success.status}]["content"]["${mediaType}"]`;
}

function signature({ id, typeName, public: open }: Operation): string {
  return `${id}(request: ${typeName}Request, caller: ${open ? "undefined" : "Caller"}): Outcome<${typeName}Response>;`;
}

function operationDoc({ summary, description, method, path, deprecated, extension }: Operation): string {
  const paragraphs = [
    summary,
    description === summary ? "" : description,
    `\`${method.toUpperCase()} ${path}\`${extension ? " (an extension of the interface)" : ""}`,
    deprecated ? "@deprecated" : "",
  ];
  const texts = paragraphs.map((text) => text.trim()).filter((text) => text !== "");
  return jsDoc(texts.join("\n\n"), true);
}

/** A comment of the text; empty for no text. */
export function jsDoc(text: string, lineBreak = false): string {
  const lines = text.trim().replaceAll("*/", "*\\/").split("\n");
  if (text.trim() === "") return "";
  const end = lineBreak ? "\n" : "";
  if (lines.length === 1) return `/** ${lines[0] ?? ""} */${end}`;
  return ["/**", ...lines.map((line) => ` * ${line}`.trimEnd()), " */"].join("\n") + end;
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "  ");
}
