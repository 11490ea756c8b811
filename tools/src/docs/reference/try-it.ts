import { deref } from "../../model/openapi.js";
import type { OpenApi, Schema } from "../../model/openapi.js";
import type { Operation } from "../../model/model.js";
import type { Parameter } from "../../model/parameters.js";
import { at } from "../../model/pointer.js";
import type { Literal } from "../../samples/literals.js";
import { textOf } from "../../samples/sample-request.js";
import { escapeHtml } from "../page/template.js";
import type { ReferenceContext } from "./context.js";
import { exampleText, mediaPointer } from "./examples.js";

/**
 * The form that sends an operation to the service that the page comes from. It is hidden until a script finds that the
 * page comes from one.
 */
export function tryItForm(context: ReferenceContext, operation: Operation): string {
  const { method, path, params, destructive, access } = operation;
  const data = {
    method: method.toUpperCase(),
    path,
    body: bodyKind(operation),
    media: operation.body?.mediaTypes.at(-1),
  };
  const attributes = Object.entries(data).map(([name, value]) =>
    value === undefined ? "" : ` data-${name}="${escapeHtml(value)}"`,
  );
  const warning = destructive ? " What it names cannot be read afterwards." : "";
  return `<section class="try" id="try-it" aria-labelledby="try-it-title" hidden${attributes.join("")}>
<h2 id="try-it-title">Try it</h2>
<p>Sends the request to this service.${warning}${access === undefined ? "" : " The key stays in the memory of this page, or of this tab if you say so."}</p>
<form>
${access === undefined ? "" : keyFields}
${params.map(parameterField).join("\n")}
${bodyFields(context, operation)}
<p class="actions"><button type="submit">Send</button> <button type="button" class="stop" hidden>Stop</button></p>
</form>
<div class="result" hidden>
<p class="status" role="status"></p>
<p class="download"></p>
<details><summary>Response headers</summary><pre class="headers" tabindex="0" aria-label="Response headers"></pre></details>
<pre class="output" tabindex="0" aria-label="Response body"></pre>
</div>
</section>`;
}

/** The project is offered once the service has said which ones the key may see. */
const keyFields = `${field("API key", '<input type="password" name="key" autocomplete="off" required>', "")}
<label class="check"><input type="checkbox" name="keep-key"> Keep the key until this tab is closed</label>
<label hidden><span>Project</span><select name="own-project"></select></label>`;

function bodyKind({ body }: Operation): string | undefined {
  if (body === undefined) return undefined;
  // Of the media types of a raw body, JSON can be written by hand.
  return body.kind === "raw" ? (body.mediaTypes.includes("application/json") ? "json" : "bytes") : body.kind;
}

function parameterField({ name, in: location, required, array, example }: Parameter): string {
  const value = example === undefined ? "" : escapeHtml([example as Literal].flat().map(textOf).join("\n"));
  const attributes = `name="${escapeHtml(name)}" data-in="${location}"${required ? " required" : ""}`;
  const hint = `${location}${required ? ", required" : ""}${array ? ", one value per line" : ""}`;
  // Only what has to be sent is filled in: an optional filter of an example would find nothing in the reader's project.
  const given = required ? ` value="${value}"` : value === "" ? "" : ` placeholder="${value}"`;
  const input = array
    ? `<textarea rows="2" spellcheck="false" ${attributes}>${required ? value : ""}</textarea>`
    : `<input type="text" spellcheck="false" autocomplete="off" ${attributes}${given}>`;
  return field(name, input, hint);
}

function bodyFields({ model, examples }: ReferenceContext, operation: Operation): string {
  const { body } = operation;
  if (body === undefined) return "";
  const kind = bodyKind(operation);
  if (kind === "bytes") return field("Body", '<input type="file" name="body" data-in="body">', "a file");
  const jsonPointer = body.kind === "raw" ? at(body.pointer, "application/json") : mediaPointer(body.pointer);
  const [example] = examples(jsonPointer);
  if (kind === "multipart") return partFields(model.document, body.schema ?? {}, example?.value);
  const text = example === undefined ? "{}" : exampleText(example);
  const rows = Math.min(24, Math.max(4, text.split("\n").length));
  const area = `<textarea name="body" data-in="body" rows="${rows}" spellcheck="false">\n${escapeHtml(text)}</textarea>`;
  return field("Body", area, "JSON");
}

function partFields(document: OpenApi, schema: Schema, example: Literal | undefined): string {
  const { value } = deref<Schema>(document, schema, "");
  const examples = typeof example === "object" && example !== null ? (example as Record<string, Literal>) : {};
  return Object.entries(value.properties ?? {})
    .map(([name, property]) => {
      const part = deref<Schema>(document, property, "").value;
      const required = value.required?.includes(name) === true;
      const attributes = `name="${escapeHtml(name)}" data-in="part"${required ? " required" : ""}`;
      const hint = required ? "part, required" : "part";
      if (part.format === "binary") return field(name, `<input type="file" ${attributes}>`, hint);
      const given = required ? ` value="${escapeHtml(textOf(examples[name] ?? ""))}"` : "";
      return field(name, `<input type="text" spellcheck="false" autocomplete="off" ${attributes}${given}>`, hint);
    })
    .join("\n");
}

function field(label: string, input: string, hint: string): string {
  const note = hint === "" ? "" : ` <small>${escapeHtml(hint)}</small>`;
  return `<label><span>${escapeHtml(label)}${note}</span>${input}</label>`;
}
