import { createFinalURL, createQuerySerializer, mergeHeaders } from "./openapi-fetch.js";
import type { Connection } from "./connection.js";

/** One operation's request, its inputs already sorted into path, query, headers and body. */
export interface OutgoingRequest {
  readonly operationId: string;
  /** Method and path as in the specification. */
  readonly operation: string;
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: HeadersRecord;
  /** Called for every attempt, because a stream can be read once. */
  readonly body?: () => RequestBody;
  /** `half` for a body that is a stream. */
  readonly duplex?: "half";
}

export type RequestBody = NonNullable<RequestInit["body"]>;

/** Headers by name; undefined ones are not sent. */
export type HeadersRecord = Readonly<Record<string, string | undefined>>;

const querySerializer = createQuerySerializer();

/** The request of one attempt. Lists of the query repeat their name; absent and null parameters are left out. */
export function requestOf(
  { baseUrl, headers: common }: Connection,
  { operation, path, query, body, duplex }: OutgoingRequest,
  headers: HeadersRecord,
  signal: AbortSignal,
): Request {
  const [method, template = ""] = operation.split(" ");
  const pathSerializer = (address: string) =>
    address.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => segmentOf(path[name], name, operation));
  const url = createFinalURL(template, { baseUrl, params: { path, query }, querySerializer, pathSerializer });
  const init = { method, headers: mergeHeaders(common, headers), body: body?.(), signal, duplex };
  return new Request(url, init);
}

// URLs resolve "." and ".." even when they are encoded, and another operation would be called.
function segmentOf(value: unknown, name: string, operation: string): string {
  const segment = value === undefined || value === null ? "" : encode(value);
  if (/^\.{0,2}$/.test(segment)) throw new TypeError(`${operation}: ${name} must not be empty, "." or ".."`);
  return segment;
}

function encode(value: unknown): string {
  return encodeURIComponent(String(value));
}
