import { STATUS_CODES } from "node:http";
import type { Model, Operation } from "../../model/model.js";
import type { Content, DescribedResponse } from "../../model/payloads.js";
import { at } from "../../model/pointer.js";
import { blocks, codeBlock, codeSpan, firstSentence, table } from "../markdown-text.js";
import type { Page } from "../page.js";
import { accessText } from "./access-text.js";
import { componentsOf, operationPath, sharedName } from "./components.js";
import { errorAnchor } from "./errors-page.js";
import { exampleBlocks } from "./example-blocks.js";
import { examplesAt, mediaPointer } from "./examples.js";
import type { ReferenceContext } from "./context.js";
import { schemaText } from "./schema-text.js";
import { tryItForm } from "./try-it.js";
import { typeText } from "./type-text.js";
import type { LinkTo } from "./type-text.js";

/** The page of an operation. It describes each component that no other page describes. */
export function operationPage(context: ReferenceContext, operation: Operation): Page {
  const { model } = context;
  const path = operationPath(model, operation);
  const link = context.linksFrom(path);
  const own = operation.responses.filter((response) => sharedName(response) === undefined);
  const described = new Set<string>();
  /** Components of a part that belong on this page and were not described by an earlier part. */
  const components = (schemas: Content["schema"][]) => {
    const names = componentsOf(model.document, schemas.flatMap((schema) => schema ?? []));
    return [...names].flatMap((name) => {
      if (context.pages.get(name) !== path || described.has(name)) return [];
      described.add(name);
      return context.componentText(name, link, 3);
    });
  };
  const markdown = blocks(
    `# ${operation.summary}`,
    facts(operation),
    operation.deprecated ? "**Deprecated.** It works, and new programs use another operation." : undefined,
    operation.description,
    samplesText(context, operation),
    parametersText(model, operation, link),
    bodyText(model, operation, link),
    components([...operation.params.map(({ schema }) => schema), operation.body?.schema]),
    "## Responses",
    own.map((response) => responseText(model, operation, response, link)),
    components(own.flatMap(({ contents }) => contents.map(({ schema }) => schema))),
    sharedErrors(operation),
  );
  return {
    path,
    title: `${operation.summary} (${operation.id})`,
    description: firstSentence(operation.description) || operation.summary,
    markdown,
    keywords: [operation.id, operation.path, ...operation.aliases].join(" "),
    unindexed: ["code-samples", "shared-errors"],
    insert: { after: "code-samples", html: tryItForm(model, operation) },
  };
}

function facts(operation: Operation): string {
  const { method, path, aliases, id, extension } = operation;
  const also = aliases.length === 0 ? "" : `, also ${aliases.map(codeSpan).join(", ")}`;
  return [
    `- Request: ${codeSpan(`${method.toUpperCase()} ${path}`)}${also}`,
    `- Operation: ${codeSpan(id)}${extension ? ", an extension of the interface" : ""}`,
    `- Access: ${accessText(operation)}`,
  ].join("\n");
}

function samplesText({ samples }: ReferenceContext, operation: Operation): string {
  const found = samples(operation);
  if (found.length === 0) return "";
  return blocks(
    "## Code samples",
    found.map(({ language, title, code }) => codeBlock(language, code, title)),
  );
}

function parametersText({ document }: Model, { params }: Operation, link: LinkTo): string {
  if (params.length === 0) return "";
  const rows = params.map(({ name, in: location, required, schema, description }) => [
    required ? `${codeSpan(name)} *required*` : codeSpan(name),
    location,
    typeText(document, schema, link),
    description,
  ]);
  return blocks("## Parameters", table(["Name", "In", "Type", "Description"], rows));
}

function bodyText(model: Model, { body, maxBodyBytes }: Operation, link: LinkTo): string {
  if (body === undefined) return "";
  const { document } = model;
  const types = body.mediaTypes.map(codeSpan).join(" or ");
  const schema = body.schema === undefined ? "" : `: ${typeText(document, body.schema, link)}`;
  const examples = body.mediaTypes.flatMap((mediaType) =>
    examplesAt(document, body.kind === "raw" ? at(body.pointer, mediaType) : mediaPointer(body.pointer)),
  );
  return blocks(
    "## Request body",
    `${types}${schema}. ${body.required ? "Required" : "Optional"}, at most ${sizeText(maxBodyBytes)}.` +
      (body.streamed ? " The service reads the body as it arrives." : ""),
    body.schema === undefined ? undefined : schemaText(document, body.schema, link),
    exampleBlocks(examples),
  );
}

function responseText(model: Model, operation: Operation, response: DescribedResponse, link: LinkTo): string {
  const headers = response.headers.length === 0 ? "" : `Headers: ${response.headers.map(codeSpan).join(", ")}.`;
  return blocks(
    `### ${response.status} ${statusText(response.status)}`,
    response.description,
    response.contents.length === 0 ? "The response has no body." : undefined,
    headers,
    response.contents.map((content) => contentText(model, operation, content, link)),
  );
}

function contentText({ document }: Model, { streamOptional }: Operation, content: Content, link: LinkTo): string {
  const { mediaType, kind, schema, pointer } = content;
  const unit = { json: "", jsonl: "One line of the stream", sse: "The data of one event", bytes: "" }[kind];
  const type = schema === undefined || kind === "bytes" ? "" : `: ${typeText(document, schema, link)}`;
  const when = streamOptional && kind !== "bytes" ? (unit === "" ? " (without a stream)" : " (as a stream)") : "";
  return blocks(
    `${codeSpan(mediaType)}${when}${unit === "" ? type : `. ${unit}${type}`}${kind === "bytes" ? ": bytes" : ""}.`,
    schema === undefined || kind === "bytes" ? undefined : schemaText(document, schema, link),
    exampleBlocks(examplesAt(document, mediaPointer(pointer))),
  );
}

function sharedErrors({ responses, errorObject }: Operation): string {
  const rows = responses.flatMap((response) => {
    const name = sharedName(response);
    if (name === undefined) return [];
    const anchor = errorAnchor(response.status, name);
    return [[`[${response.status} ${name}](errors.md#${anchor})`, firstSentence(response.description)]];
  });
  if (rows.length === 0) return "";
  return blocks(
    "## Shared errors",
    errorObject ? "The bodies have the object `error` of the OpenAI API as well." : undefined,
    table(["Status", "When"], rows),
  );
}

function sizeText(bytes: number): string {
  const [size, unit] = bytes % 1_048_576 === 0 ? [bytes / 1_048_576, "MiB"] : [bytes, "bytes"];
  return `${size} ${unit} when decompressed`;
}

/** The reason phrase of a status, for headings. */
export function statusText(status: number): string {
  return STATUS_CODES[status] ?? "";
}
