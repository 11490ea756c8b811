/** What is known about a failure when the error is made. */
export interface FailureDetails {
  operation: string;
  status?: number;
  body?: unknown;
  headers?: Headers;
  cause?: unknown;
}

/**
 * The one error of this client: the service rejected the request, or there was no usable response.
 *
 * `status` is the HTTP status, or 0 when there was no response (network failure, timeout, a stream cut short).
 * `cause` has the reason. An abort through your own signal is not a HeddleApiError: the signal's reason is thrown as it is.
 *
 * ```ts
 * try { await tracing.objRead({ project_id, object_id, digest }); }
 * catch (error) { if (error instanceof HeddleApiError && error.status === 404) return undefined; throw error; }
 * ```
 */
export class HeddleApiError extends Error {
  override readonly name = "HeddleApiError";
  /** Method and path as the spec names them, for example `POST /obj/read`. */
  readonly operation: string;
  readonly status: number;
  /** One sentence: what the service gave as `reason` or `detail`, else the status. */
  readonly reason: string;
  /** The parsed body of the response, or its text when it is not JSON; extras such as `deleted_at` are found here. */
  readonly body: unknown;
  /** Value of the `x-request-id` header, if the service sent one. */
  readonly requestId: string | undefined;
  /** Seconds the service asks to wait before another try. */
  readonly retryAfter: number | undefined;

  constructor({ operation, status = 0, body, headers, cause }: FailureDetails) {
    const reason = reasonOf(body) || (cause instanceof Error ? cause.message : `HTTP status ${status}`);
    super(`${operation}: ${status ? `${status} ` : ""}${reason}`, { cause });
    this.operation = operation;
    this.status = status;
    this.reason = reason;
    this.body = body;
    this.requestId = headers?.get("x-request-id") ?? undefined;
    this.retryAfter = secondsToWait(headers?.get("retry-after"));
  }
}

// {"reason"} is the tracing interface, {"detail"} the training interface and every validation error,
// {"error": {"message"}} chat completions.
function reasonOf(body: unknown): string {
  if (typeof body === "string") return body;
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
