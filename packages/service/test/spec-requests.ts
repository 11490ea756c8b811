import { fileURLToPath } from "node:url";
import { readModel } from "@heddle/tools/model";
import type { Model, Operation, Schema } from "@heddle/tools/model";

// Tests that go over every operation take it from here: what the spec gains is in them by itself.

const models = ["tracing", "training"].map((name) =>
  readModel(fileURLToPath(new URL(`../../../spec/dist/${name}.json`, import.meta.url))),
);

export interface SpecOperation extends Operation {
  model: Model;
}

/** Every operation of both interfaces, in the order of the documents. */
export const operations: SpecOperation[] = models.flatMap((model) =>
  model.operations.map((operation) => ({ ...operation, model })),
);

export type { Schema };

/** Sample of an operation's request body or response; undefined where it has none. */
export function sampleOf({ id, model }: SpecOperation, what: "Request" | "Response"): unknown {
  const samples = model.document.components?.["examples"] as Record<string, { value: unknown }> | undefined;
  return samples?.[`${id}${what}`]?.value;
}

/** What a request is made of, before it is one. Parameters by name; a body that is text or bytes is sent as it is. */
export interface RequestParts {
  params?: Record<string, unknown>;
  body?: unknown;
}

/** The sample request of an operation: body and required parameters. */
export function sampleRequest(operation: SpecOperation): RequestParts {
  const params = operation.params.filter(({ required }) => required).map(({ name, example }) => [name, example]);
  return { params: Object.fromEntries(params), body: sampleOf(operation, "Request") };
}

/** Whether an operation changes something: its key needs more than to read. */
export const writes = ({ access }: SpecOperation): boolean => access !== undefined && access.right !== "read";

/** The parts as arguments of `fetch`. */
export function toRequest(
  { path, method, params: declared, body: declaredBody }: SpecOperation,
  { params = {}, body }: RequestParts,
  headers: Record<string, string> = {},
): [url: string, init: RequestInit] {
  const search = new URLSearchParams();
  const sent: Record<string, string> = { ...headers };
  let target = path;
  for (const { name, in: location } of declared) {
    const value = params[name];
    if (value === undefined) continue;
    if (location === "path") target = target.replace(`{${name}}`, encodeURIComponent(textOf(value)));
    else if (location === "query") for (const one of [value].flat()) search.append(name, textOf(one));
    else sent[name] = textOf(value);
  }
  const init: RequestInit = { method: method.toUpperCase(), headers: sent };
  if (body !== undefined && declaredBody !== undefined) {
    if (declaredBody.kind === "multipart") init.body = formOf(body as Record<string, unknown>);
    else {
      init.body = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
      const json = declaredBody.mediaTypes.includes("application/json") ? "application/json" : undefined;
      sent["content-type"] ??= json ?? declaredBody.mediaTypes[0] ?? "";
    }
  }
  const query = search.size === 0 ? "" : `?${search.toString()}`;
  return [`http://in-process${target}${query}`, init];
}

/** A parameter as text; what is not a scalar goes as JSON. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function formOf(fields: Record<string, unknown>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (name === "file") form.append(name, new Blob([value as string | Uint8Array<ArrayBuffer>]), "blob");
    else form.append(name, textOf(value));
  }
  return form;
}
