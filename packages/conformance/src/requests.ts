import type { PlanOperation } from "./plan.js";

/** What a request is made of, before it is one. */
export interface RequestParts {
  /** Parameters by name. */
  params?: Record<string, unknown>;
  /** A string or bytes are sent as they are, anything else as JSON or as the parts of a form. */
  body?: unknown;
  /** Overrides the media type of the operation. */
  mediaType?: string;
}

/** The request that the examples of an operation show: body and required parameters. */
export function exampleRequest({ params, body }: PlanOperation): RequestParts {
  const required = params.filter((param) => param.required).map(({ name, example }) => [name, example]);
  const example = body?.examples.find(({ mediaType }) => mediaType === preferredType(body.mediaTypes));
  return {
    params: Object.fromEntries(required) as Record<string, unknown>,
    ...(example !== undefined && { body: example.value }),
  };
}

export interface HttpParts {
  method: string;
  /** Path and query. */
  target: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer> | FormData;
}

/** The request as method, path, headers and body. */
export function toHttp(
  { path, method, params: declared, body: declaredBody }: PlanOperation,
  { params = {}, body, mediaType }: RequestParts,
): HttpParts {
  const search = new URLSearchParams();
  const headers: Record<string, string> = {};
  let target = path;
  for (const { name, in: location } of declared) {
    const value = params[name];
    if (value === undefined) continue;
    if (location === "path") target = inPath(target, name, textOf(value));
    else if (location === "query") for (const one of [value].flat()) search.append(name, textOf(one));
    else headers[name] = textOf(value);
  }
  const query = search.size === 0 ? "" : `?${search.toString()}`;
  const parts = { method, target: `${target}${query}`, headers };
  if (body === undefined || declaredBody === undefined) return parts;
  if (declaredBody.kind === "multipart" && typeof body === "object" && !(body instanceof Uint8Array)) {
    return { ...parts, body: formOf(body as Record<string, unknown>) };
  }
  headers["content-type"] = mediaType ?? preferredType(declaredBody.mediaTypes);
  const isReady = typeof body === "string" || body instanceof Uint8Array;
  return { ...parts, body: isReady ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body) };
}

/** JSON where an operation takes it, else the first media type. */
function preferredType(mediaTypes: readonly string[]): string {
  return mediaTypes.find((type) => type === "application/json") ?? mediaTypes[0] ?? "application/octet-stream";
}

/** A path with the value of a parameter; one with a star takes the value with its slashes. */
function inPath(path: string, name: string, value: string): string {
  const encoded = encodeURIComponent(value);
  return path.replace(`{${name}}`, () => encoded).replace(`{${name}*}`, () => encoded.replaceAll("%2F", "/"));
}

/** A parameter as text; what is not a scalar goes as JSON. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function formOf(fields: Record<string, unknown>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (name === "file") form.append(name, new Blob([value as string]), "blob");
    else form.append(name, textOf(value));
  }
  return form;
}
