import type { ResponseEntry, OperationEntry } from "../operations/definition.js";
import type { HttpRequest, HttpResponse } from "../http.js";
import { withoutPieces } from "../json/pieces.js";
import { writeJson, writeJsonPieces } from "../json/write.js";
import { oneLine } from "./one-line.js";
import { problemBody } from "./error-body.js";
import type { ErrorFormat } from "./error-body.js";
import type { Problem } from "../problem.js";
import { Reply } from "./reply.js";
import { SharedItems } from "./shared-items.js";
import { isStream, openStream } from "./stream.js";
import type { Encoder } from "./stream.js";
import { detailsOf } from "../validation/validation.js";
import type { Validator } from "../validation/validation.js";
import { piecesBody } from "./write-slices.js";
import type { BodyPiece } from "./write-slices.js";

type Validators = Readonly<Record<string, Validator>> | undefined;

/** A browser neither guesses the type of a response with these, nor runs, frames or keeps it. */
export const securityHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
} as const;

const jsonHeaders = { "content-type": "application/json", ...securityHeaders };
const streamTypes = { jsonl: "application/jsonl", sse: "text/event-stream" } as const;

export interface ResponseOptions {
  /** Checks of responses; absent where they are not checked. */
  validators: Validators;
  /** Most UTF-16 units of a JSON response. */
  maxLength: number;
}

/** Turns what a handler returned into a response. Throws `ResponseTooLarge`. */
export function responseOf(
  result: unknown,
  { id, response }: OperationEntry,
  request: HttpRequest,
  { validators, maxLength }: ResponseOptions,
): HttpResponse | Promise<HttpResponse> {
  const given = result instanceof Reply ? result : undefined;
  const body: unknown = given ? given.body : result;
  const status = given?.status ?? response.status;
  const own = given?.headers;
  // Only the success response is described for what handlers return.
  const checked = status === response.status ? validators : undefined;
  if (response.stream !== undefined && (isStream(body) || !response.json)) {
    // Of an operation with both forms the handler says which one it returns.
    const headers = headersOf(streamTypes[response.stream], own);
    const encoder = encoderOf(headers["content-type"] === streamTypes.sse, (item) =>
      check(id, item, validatorOf(checked, response.itemValidator)),
    );
    return openStream(body as AsyncIterable<unknown>, encoder, request).then((stream) => ({
      status,
      headers,
      body: stream,
    }));
  }
  if (body instanceof Uint8Array) return { status, headers: bytesHeaders(response, own), body };
  if (isStream(body)) {
    const encoder = { encode: asBytes, eager: true };
    const headers = bytesHeaders(response, own);
    return openStream(body, encoder, request).then((stream) => ({ status, headers, body: stream }));
  }
  if (!response.json && body === undefined) return { status, headers: { ...securityHeaders, ...own } };
  check(id, body, validatorOf(checked, response.validator));
  const pieces = writeJsonPieces(body, maxLength);
  const headers = own ? { ...jsonHeaders, ...own } : jsonHeaders;
  const texts = pieces.filter((piece) => typeof piece === "string");
  if (pieces.length === 1 && texts[0] !== undefined) return { status, headers, body: texts[0] };
  return { status, headers, body: piecesBody(pieces), held: lengthOf(new Set(texts)) };
}

/** The response of a problem, in the error body of the interface. */
export function problemResponse(
  problem: Problem,
  format: ErrorFormat,
  { unread = false }: { unread?: boolean } = {},
): HttpResponse {
  const body = { mediaType: "application/json", text: writeJson(problemBody(problem, format)) };
  const response = errorResponse(problem, body, { unread });
  // Clients of the training interface repeat a request after any 5xx.
  if (format.interface === "training" && problem.status >= 500 && problem.status !== 503)
    response.headers["x-should-retry"] ??= "false";
  return response;
}

/** The response of a problem in a body of any form. `unread`: the body of the request may not have been read. */
export function errorResponse(
  problem: Problem,
  { mediaType, text }: { mediaType: string; text: string },
  { unread: isUnread = false }: { unread?: boolean } = {},
): HttpResponse {
  const { status } = problem;
  const headers: Record<string, string> = { "content-type": mediaType, ...securityHeaders, ...problem.headers };
  if (status === 401) headers["www-authenticate"] ??= "Bearer";
  // The rest of the body is not read.
  const unread = isUnread || status === 413 || status === 408;
  if (unread) headers["connection"] = "close";
  return { status, headers, body: text, ...((unread || status === 503) && { drain: true }) };
}

const octets = "application/octet-stream";

function headersOf(mediaType: string, own: Record<string, string> | undefined): Record<string, string> {
  return { "content-type": mediaType, ...securityHeaders, ...own };
}

/** Bytes are whatever a client once sent: a browser that opens them saves a file instead of showing a page. */
function bytesHeaders(response: ResponseEntry, own: Record<string, string> | undefined): Record<string, string> {
  return { ...headersOf(response.bytes ?? octets, undefined), "content-disposition": "attachment", ...own };
}

function encoderOf(isEvents: boolean, checkItem: (item: unknown) => void): Encoder {
  const [before, after, end] = isEvents ? ["data: ", "\n\n", endOfEvents] : ["", "\n", ""];
  const encode = (item: unknown): string | Uint8Array | readonly BodyPiece[] => {
    if (item instanceof Uint8Array) return item;
    if (item instanceof SharedItems) return item.encoded(isEvents ? "events" : "lines", encode);
    checkItem(item);
    const pieces = writeJsonPieces(item, Infinity);
    const [only] = pieces;
    if (pieces.length === 1 && typeof only === "string") return `${before}${oneLine(only)}${after}`;
    return [before, ...pieces.map((piece) => (typeof piece === "string" ? oneLine(piece) : piece)), after];
  };
  return { encode, eager: isEvents, end };
}

/** The last event of a stream, by which clients of the OpenAI API know that it is complete. */
const endOfEvents = "data: [DONE]\n\n";

/** The last events of a stream that failed after it had begun. */
export function failureEvents(problem: Problem, format: ErrorFormat): string {
  return `data: ${oneLine(writeJson(problemBody(problem, format)))}\n\n${endOfEvents}`;
}

function asBytes(item: unknown): string | Uint8Array {
  return item instanceof Uint8Array ? item : String(item);
}

function lengthOf(pieces: Iterable<string>): number {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return length;
}

function validatorOf(validators: Validators, name: string | undefined): Validator | undefined {
  return name === undefined ? undefined : validators?.[name];
}

function check(id: string, given: unknown, validator: Validator | undefined): void {
  if (validator === undefined) return;
  const value = withoutPieces(given);
  if (validator(value)) return;
  const details = detailsOf(validator.errors, ["response"], value);
  const what = details.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
  throw new Error(`the response of ${id} does not fit the spec: ${what}`);
}
