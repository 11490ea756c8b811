import { describeCause } from "./cause.js";
import { excerpt } from "./excerpt.js";

/** The operation that failed. */
export interface FailedOperation {
  readonly operationId: string;
  readonly operation: string;
}

/** What is known about a failure when the error is made. */
export interface FailureDetails {
  /** 0 without a complete response. */
  status?: number;
  headers?: Headers;
  body?: unknown;
  /** Default: what the body says, else the cause. */
  reason?: string;
  cause?: unknown;
  /** Host that was addressed, for the message of a cause that does not name it. */
  host?: string;
}

/**
 * The one error of this client: the service rejected the request, or there was no usable response. The predicates
 * `isNotFound`, `isConflict`, `isRateLimited`, `isConnectionError`… tell the kinds apart.
 *
 * An abort through your own signal is not a HeddleApiError: the signal's reason is thrown as it is.
 *
 * ```ts
 * try { await tracing.objRead({ project_id, object_id, digest }); }
 * catch (error) { if (isNotFound(error, "objRead")) return error.body.deleted_at; throw error; }
 * ```
 */
export class HeddleApiError<Body = unknown> extends Error {
  override readonly name = "HeddleApiError";
  /** The operation as the specification and the methods name it, for example `objRead`. */
  readonly operationId: string;
  /** Method and path as the specification names them, for example `POST /obj/read`. */
  readonly operation: string;
  /** The HTTP status; 0 without a complete response: a network failure, a timeout, a stream that ended early. */
  readonly status: number;
  /** One sentence: what the service gave as `reason` or `detail`, else what happened to the connection. */
  readonly reason: string;
  /** The parsed body of the response, or its text when it is not JSON; undefined without a response. */
  readonly body: Body;
  /** Headers of the response; undefined without one. */
  readonly headers: Headers | undefined;
  /** Value of the `x-request-id` header, by which the service's log names the request. */
  readonly requestId: string | undefined;
  /** Seconds the service asks to wait before another attempt. */
  readonly retryAfter: number | undefined;
  /** Code of a network failure as the runtime names it, for example `ECONNREFUSED`; `TimeoutError` for a time limit. */
  readonly code: string | undefined;

  constructor({ operationId, operation }: FailedOperation, details: FailureDetails) {
    const { status = 0, headers, body, cause, host } = details;
    const failure = cause === undefined ? undefined : describeCause(cause, host);
    const reason = details.reason || reasonOf(body) || failure?.text || `HTTP status ${status}`;
    const requestId = headers?.get("x-request-id") ?? undefined;
    const outcome = status ? `: ${status} ${reason}` : ` failed: ${reason}`;
    super(operation + outcome + (requestId && status >= 500 ? ` (request id ${requestId})` : ""), { cause });
    this.operationId = operationId;
    this.operation = operation;
    this.status = status;
    this.reason = reason;
    this.body = body as Body;
    this.headers = headers;
    this.requestId = requestId;
    this.retryAfter = secondsToWait(headers?.get("retry-after"));
    this.code = failure?.code;
  }
}

// {"reason"} is the tracing interface, {"detail"} the training interface and every validation error,
// {"error": {"message"}} chat completions. Text is what a proxy sends.
function reasonOf(body: unknown): string {
  if (typeof body === "string") return excerpt(body);
  const { reason, detail, error, message } = (body ?? {}) as Record<string, unknown>;
  if (Array.isArray(detail)) return detail.map(({ loc, msg }) => `${loc?.join(".")}: ${msg}`).join("; ");
  if (error) return reasonOf(error);
  return [reason, detail, message].find((text) => typeof text === "string") ?? "";
}

// A number of seconds or an HTTP date (RFC 9110, section 10.2.3).
function secondsToWait(value: string | null | undefined): number | undefined {
  if (!value) return undefined;
  const seconds = Number(value);
  const wait = Number.isNaN(seconds) ? (Date.parse(value) - Date.now()) / 1000 : seconds;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
