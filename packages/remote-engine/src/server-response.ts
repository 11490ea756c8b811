import type { IncomingHttpHeaders } from "node:http";
import type { ErrorCode } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import type { HttpResponse } from "./http-client.js";
import { readBody } from "./http-client.js";
import { isJsonObject } from "@heddle/exact-json";

/** A complete response with its JSON body; text that is not JSON is kept as text, and Protocol Buffers as bytes. */
export interface ServerResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** Log-probabilities of a batch of 5 MB of tokens take less. */
const maxResponseBytes = 256 * 1024 * 1024;
const maxMessageLength = 300;

export async function readResponse(response: HttpResponse, signal?: AbortSignal): Promise<ServerResponse> {
  const bytes = await readBody(response, maxResponseBytes, signal);
  const { status, headers } = response;
  if (headers["content-type"]?.startsWith("application/x-protobuf")) return { status, headers, body: bytes };
  const text = bytes.toString("utf8");
  try {
    return { status, headers, body: text === "" ? undefined : JSON.parse(text) };
  } catch {
    return { status, headers, body: text };
  }
}

const codes: Readonly<Record<number, ErrorCode>> = {
  400: "invalid",
  401: "denied",
  402: "denied",
  403: "denied",
  404: "not_found",
  409: "conflict",
  413: "too_large",
  415: "unsupported",
  422: "invalid",
  429: "busy",
  503: "busy",
};

/** Returns the error that a response with an error status reports. */
export function errorOf(server: string, { status, body }: ServerResponse): HeddleError {
  const code = codes[status] ?? (status < 500 ? "invalid" : "failed");
  return new HeddleError(code, `${server} responded with ${status}: ${reasonOf(body)}`);
}

/** Returns the text of an error body: `detail` as text or as a list of field errors, `error`, `message`, or the body itself. */
export function reasonOf(body: unknown): string {
  return clip(
    isJsonObject(body)
      ? detailText(body["detail"] ?? body["error"] ?? body["message"] ?? body["error_message"])
      : detailText(body),
  );
}

function detailText(detail: unknown): string {
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail)) return detail.map(fieldError).join("; ");
  if (isJsonObject(detail) && typeof detail["message"] === "string") return detail["message"];
  return detail === undefined ? "no reason" : (JSON.stringify(detail) ?? "no reason");
}

function fieldError(entry: unknown): string {
  if (!isJsonObject(entry)) return String(entry);
  const { loc, msg } = entry;
  const path = Array.isArray(loc) ? loc.join(".") : "";
  return `${path}: ${typeof msg === "string" ? msg : "invalid"}`;
}

function clip(text: string): string {
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength)}…` : text;
}

/** Returns the pause in milliseconds that a response asks for with `Retry-After` in seconds. */
export function retryAfterMs({ headers }: ServerResponse): number | undefined {
  const seconds = Number(headers["retry-after"]);
  return headers["retry-after"] !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
