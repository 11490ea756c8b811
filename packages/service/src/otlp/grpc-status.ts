import type { HttpResponse } from "@heddle/server-stub";
import { protobufField } from "@heddle/trace-model";

/** How a call of gRPC ended. */
export interface GrpcStatus {
  code: number;
  message: string;
  /** Seconds after which the client may send the same again; undefined = it must not. */
  retryAfter?: number | undefined;
}

export const ok: GrpcStatus = { code: 0, message: "" };
const invalidArgument = 3;
const internal = 13;

/** Those of google.rpc.Code. Exporters repeat what got 4, 8 or 14, some of them without regard for RetryInfo. */
const codes: Readonly<Record<number, number>> = {
  401: 16, // UNAUTHENTICATED
  403: 7, // PERMISSION_DENIED
  404: 12, // UNIMPLEMENTED
  408: 4, // DEADLINE_EXCEEDED
  // What is too large stays too large: INVALID_ARGUMENT is not repeated, RESOURCE_EXHAUSTED would be.
  413: invalidArgument,
  415: 12,
  429: 8, // RESOURCE_EXHAUSTED
  501: 12,
  503: 14, // UNAVAILABLE
};

/** What an unsuccessful response of HTTP is in gRPC. */
export function grpcStatusOf({ status, headers, body }: HttpResponse): GrpcStatus {
  const seconds = Number(headers["retry-after"] ?? NaN);
  return {
    code: codes[status] ?? (status < 500 ? invalidArgument : internal),
    message: reasonOf(typeof body === "string" ? body : ""),
    retryAfter: Number.isFinite(seconds) ? seconds : undefined,
  };
}

/** In UTF-16 units. Clients refuse headers of more than 8 KiB, and a unit may take nine bytes. */
const longestMessage = 500;

/** The headers, or trailers, that end a call. */
export function statusHeaders({ code, message, retryAfter }: GrpcStatus): Record<string, string> {
  // Through bytes: a lone surrogate, also one that is cut, has no percent-encoding.
  const shortened = Buffer.from(message.slice(0, longestMessage)).toString();
  const headers: Record<string, string> = { "grpc-status": String(code) };
  if (shortened !== "") headers["grpc-message"] = shortened.replaceAll(/[^ -$&-~]/gu, encodeURIComponent);
  if (retryAfter !== undefined) headers["grpc-status-details-bin"] = withRetryInfo(code, shortened, retryAfter);
  return headers;
}

/** Of operations with one reason or several, and of routes. */
interface ErrorBody {
  reason?: string;
  error?: string;
  detail?: string | { msg: string }[];
}

/** The reason in an error body of an operation or route. */
function reasonOf(body: string): string {
  try {
    const { reason, error, detail = "" } = JSON.parse(body) as ErrorBody;
    return reason ?? error ?? (typeof detail === "string" ? detail : detail.map(({ msg }) => msg).join("; "));
  } catch {
    return body;
  }
}

/** A google.rpc.Status with a google.rpc.RetryInfo, as base64. */
function withRetryInfo(code: number, message: string, seconds: number): string {
  const detail = Buffer.concat([
    protobufField(1, Buffer.from("type.googleapis.com/google.rpc.RetryInfo")),
    protobufField(2, protobufField(1, protobufField(1, Math.ceil(seconds)))),
  ]);
  const status = [protobufField(1, code), protobufField(2, Buffer.from(message)), protobufField(3, detail)];
  return Buffer.concat(status).toString("base64");
}
