import type { Connection, RequestOptions } from "./connection.js";
import type { Deadline } from "./deadline.js";
import { startDeadline } from "./deadline.js";
import { HeddleApiError } from "./error.js";
import { retryDelay, wait } from "./retry.js";
import { newRetryId } from "./retry-id.js";

/** One operation's request: method and path as in the spec, and its inputs already sorted into their places. */
export interface OutgoingRequest {
  readonly operation: string;
  readonly params: Record<"path" | "query", Record<string, unknown>>;
  readonly headers: Record<string, string | undefined>;
  readonly body?: unknown;
  readonly bodySerializer?: (body: unknown) => unknown;
}

export interface ExchangeResult {
  readonly data: unknown;
  readonly response: Response;
  /** Still watched for the caller's signal; to be released when the answer was read. */
  readonly deadline: Deadline;
}

/**
 * One logical request: tried until it is answered or until trying again makes no sense.
 *
 * With `json` the answer is read and parsed before the deadline is met; with `stream` the deadline covers its beginning.
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
      // An answer came, but not in JSON: whoever listens there will not say it better next time.
      if (cause instanceof SyntaxError) shouldRetry = "false";
    }
    deadline.release();
    const delay = attempt < retries ? retryDelay(error, shouldRetry, attempt) : undefined;
    if (delay === undefined) throw error;
    await wait(delay, signal);
  }
}
