import type { Connection, RequestOptions } from "./connection.js";
import type { Deadline } from "./deadline.js";
import { startDeadline } from "./deadline.js";
import { HeddleApiError } from "./error.js";
import { retryDelay, wait } from "./retry.js";
import { newRetryId } from "./retry-id.js";

/**
 * One operation's request: method and path as in the spec, and its inputs already sorted into path, query, headers and
 * body.
 */
export interface OutgoingRequest {
  readonly operation: string;
  readonly params: Record<"path" | "query", Record<string, unknown>>;
  readonly headers: Record<string, string | undefined>;
  readonly body?: unknown;
  readonly bodySerializer?: (body: unknown) => unknown;
  /** `half` for a body that is a stream. */
  readonly duplex?: "half";
}

export interface ExchangeResult {
  readonly data: unknown;
  readonly response: Response;
  /** Still watched for the caller's signal; to be released when the response has been read. */
  readonly deadline: Deadline;
}

/**
 * One logical request: sent until it succeeds or until a further attempt makes no sense.
 *
 * With `json` the deadline covers reading and parsing the response; with `stream` only its beginning.
 * All tries of a write carry the same `X-Weave-Retry-Id`, by which the service recognises what it already has.
 */
export async function exchange(
  connection: Connection,
  { operation, ...outgoing }: OutgoingRequest,
  options: RequestOptions,
  parseAs: "json" | "arrayBuffer" | "stream",
): Promise<ExchangeResult> {
  const [method, path] = operation.split(" ") as ["post", string];
  const { signal, timeout = connection.timeout, retries = connection.retries } = options;
  const retryId = operation.startsWith("GET") ? undefined : (options.retryId ?? newRetryId());
  const headers = { "x-weave-retry-id": retryId, ...outgoing.headers, ...options.headers };
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    const deadline = startDeadline(timeout, signal);
    let error: HeddleApiError;
    let shouldRetry: string | null = null;
    try {
      const init = { ...outgoing, headers, parseAs, signal: deadline.signal };
      const { data, error: body, response } = await connection.http.request(method, path, init);
      deadline.responseStarted();
      if (response.ok) return { data, response, deadline };
      error = new HeddleApiError({ operation, status: response.status, headers: response.headers, body });
      shouldRetry = response.headers.get("x-should-retry");
    } catch (cause) {
      signal?.throwIfAborted();
      error = new HeddleApiError({ operation, cause });
      // The response is not JSON: the server is not Heddle, and a further attempt would not help.
      if (cause instanceof SyntaxError) shouldRetry = "false";
    }
    deadline.release();
    const delay = attempt < retries ? retryDelay(error, shouldRetry, attempt) : undefined;
    if (delay === undefined) throw error;
    await wait(delay, signal);
  }
}
