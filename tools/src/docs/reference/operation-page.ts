import { STATUS_CODES } from "node:http";
import type { Operation } from "../../model/model.js";
import { componentName } from "../../model/openapi.js";
import type { Schema } from "../../model/openapi.js";
import type { Content, DescribedResponse } from "../../model/payloads.js";
import { at } from "../../model/pointer.js";
import { blocks, codeBlock, codeSpan, firstSentence, plainText, table } from "../page/markdown-text.js";
import type { Page } from "../page/page.js";
import { accessText } from "./access-text.js";
import { componentsOf, operationPath, schemasIn, sharedName } from "./components.js";
import type { ReferenceContext } from "./context.js";
import { errorAnchor } from "./errors-page.js";
import { exampleBlocks, mediaPointer } from "./examples.js";
import { schemaText } from "./schema-text.js";
import { tryItForm } from "./try-it.js";
import { typeText } from "./type-text.js";
import type { LinkTo } from "./type-text.js";

/** The page of an operation. It describes each component that no other page describes. */
export function operationPage(context: ReferenceContext, operation: Operation): Page {
  const { model } = context;
  const path = operationPath(model, operation);
  const own = operation.responses.filter((response) => sharedName(response) === undefined);
  const writer = new SchemaWriter(context, path);
  const markdown = blocks(
    `# ${operation.summary}`,
    facts(operation),
    operation.deprecated ? "**Deprecated.** It works, and new programs use another operation." : undefined,
    operation.description,
    samplesText(context, operation),
    parametersText(operation, writer),
    bodyText(context, operation, writer),
    own.length === 0 ? undefined : "## Responses",
    own.map((response) => responseText(context, operation, response, writer)),
    sharedErrors(operation),
  );
  // A path with a slash at its end has the words of the one without.
  const aliases = operation.aliases.filter((alias) => !alias.endsWith("/"));
  return {
    path,
    title: `${operation.summary} (${operation.id})`,
    description: plainText(firstSentence(operation.description)) || operation.summary,
    markdown,
    method: operation.method,
    keywords: [operation.id, operation.path, ...aliases].join(" "),
    unindexed: ["code-samples", "shared-errors"],
    insert: { after: "code-samples", html: tryItForm(context, operation) },
    beside: true,
  };
}

/** Describes schemas on one page, and each component of the page once. */
class SchemaWriter {
  readonly #context: ReferenceContext;
  readonly #path: string;
  readonly #link: LinkTo;
  readonly #described = new Set<string>();

  constructor(context: ReferenceContext, path: string) {
    this.#context = context;
    this.#path = path;
    this.#link = context.linksFrom(path);
  }

  type(schema: Schema): string {
    return typeText(this.#context.model.document, schema, this.#link);
  }

  /**
   * The schema itself, also where another page describes it: a page that only links says nothing. Components of this page
   * are left to `components`.
   */
  whole(schema: Schema): string {
    const { document } = this.#context.model;
    const name = componentName(schema);
    if (name !== undefined && this.#isOwn(name)) return "";
    const component = name === undefined ? undefined : document.components?.schemas?.[name];
    return blocks(component?.description, schemaText(document, schema, this.#link));
  }

  /** Sections on the components of this page that the schemas lead to. */
  components(schemas: readonly Schema[]): string[] {
    return [...componentsOf(this.#context.model.document, schemas)].flatMap((name) => {
      if (!this.#isOwn(name) || this.#described.has(name)) return [];
      this.#described.add(name);
      return this.#context.componentText(name, this.#link, 3);
    });
  }

  #isOwn(name: string): boolean {
    return this.#context.pages.get(name) === this.#path;
  }
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

function parametersText({ params }: Operation, writer: SchemaWriter): string {
  if (params.length === 0) return "";
  const rows = params.map(({ name, in: location, required, schema, description }) => [
    required ? `${codeSpan(name)} *required*` : codeSpan(name),
    location,
    writer.type(schema),
    description,
  ]);
  const head = ["Name", "In", "Type", "Description"];
  return blocks("## Parameters", table(head, rows), writer.components(params.map(({ schema }) => schema)));
}

function bodyText({ examples }: ReferenceContext, { body, maxBodyBytes }: Operation, writer: SchemaWriter): string {
  if (body === undefined) return "";
  const types = body.mediaTypes.map(codeSpan).join(" or ");
  const schema = body.schema === undefined ? "" : `: ${writer.type(body.schema)}`;
  const pointers = body.mediaTypes.map((mediaType) =>
    body.kind === "raw" ? at(body.pointer, mediaType) : mediaPointer(body.pointer),
  );
  return blocks(
    "## Request body",
    `${types}${schema}. ${body.required ? "Required" : "Optional"}, at most ${sizeText(maxBodyBytes)}.` +
      (body.streamed ? " The service reads the body as it arrives." : ""),
    exampleBlocks(pointers.flatMap(examples)),
    body.schema === undefined ? undefined : writer.whole(body.schema),
    body.schema === undefined ? undefined : writer.components([body.schema]),
  );
}

function responseText(
  context: ReferenceContext,
  operation: Operation,
  response: DescribedResponse,
  writer: SchemaWriter,
): string {
  const headers = response.headers.length === 0 ? "" : `Headers: ${response.headers.map(codeSpan).join(", ")}.`;
  return blocks(
    `### ${response.status} ${STATUS_CODES[response.status] ?? ""}`,
    response.description,
    response.contents.length === 0 ? "The response has no body." : undefined,
    headers,
    response.contents.map((content) => contentText(context, operation, content, writer)),
    writer.components(schemasIn(response)),
  );
}

const units = { json: "", jsonl: "One line of the stream", sse: "The data of one event", bytes: "" };

function contentText(
  context: ReferenceContext,
  { streamOptional }: Operation,
  content: Content,
  writer: SchemaWriter,
): string {
  const { mediaType, kind, pointer } = content;
  const examples = exampleBlocks(context.examples(mediaPointer(pointer)));
  const schema = kind === "bytes" ? undefined : content.schema;
  if (schema === undefined) return blocks(`${codeSpan(mediaType)}: bytes.`, examples);
  const when = streamOptional ? (kind === "json" ? " (without a stream)" : " (as a stream)") : "";
  const unit = units[kind] === "" ? "" : `. ${units[kind]}`;
  return blocks(`${codeSpan(mediaType)}${when}${unit}: ${writer.type(schema)}.`, examples, writer.whole(schema));
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
  const size = bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : `${bytes} bytes`;
  return `${size} when decompressed`;
}
