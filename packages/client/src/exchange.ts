import type { AnyRequestOptions, Connection } from "./connection.js";
import type { Deadline } from "./deadline.js";
import { startDeadline } from "./deadline.js";
import { HeddleApiError } from "./error.js";
import type { HeadersRecord, OutgoingRequest } from "./request.js";
import { requestOf } from "./request.js";
import { retryDelay, wait } from "./retry.js";
import { newRetryId } from "./retry-id.js";

export interface ExchangeResult<Data> {
  readonly data: Data;
  readonly response: Response;
  /** Still watched for the caller's signal; to be released when the response has been read. */
  readonly deadline: Deadline;
}

type Read<Data> = (response: Response) => Data | Promise<Data>;

/**
 * One logical request: sent until it succeeds or until a further attempt makes no sense. The deadline ends when `read` has
 * what it returns.
 *
 * All tries of a write carry the same `X-Weave-Retry-Id`, by which the service recognises what it already has.
 */
export async function exchange<Data>(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: AnyRequestOptions,
  read: Read<Data>,
): Promise<ExchangeResult<Data>> {
  const { signal, timeout = connection.timeout, retries = connection.retries, onResponse } = options;
  const retryId = outgoing.operation.startsWith("GET") ? undefined : (options.retryId ?? newRetryId());
  const headers = { ...connection.headers, "x-weave-retry-id": retryId, ...outgoing.headers, ...options.headers };
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    const deadline = startDeadline(timeout, signal);
    try {
      const { data, response } = await sendOnce(connection, outgoing, headers, deadline, read);
      deadline.responseStarted();
      const { status, headers: received } = response;
      onResponse?.({ status, headers: received, requestId: received.get("x-request-id") ?? undefined });
      return { data, response, deadline };
    } catch (error) {
      deadline.release();
      signal?.throwIfAborted();
      const delay = attempt < retries && error instanceof HeddleApiError ? retryDelay(error, attempt) : undefined;
      if (delay === undefined) throw error;
      await wait(delay, signal);
    }
  }
}

/** Throws a HeddleApiError for what the network or the service does, and other errors for a request that cannot be made. */
async function sendOnce<Data>(
  connection: Connection,
  outgoing: OutgoingRequest,
  headersToSend: HeadersRecord,
  { signal }: Deadline,
  read: Read<Data>,
): Promise<{ data: Data; response: Response }> {
  const request = requestOf(connection, outgoing, headersToSend, signal);
  let headers: Headers | undefined;
  try {
    const response = await connection.fetch(request);
    headers = response.headers;
    if (response.ok) return { data: await read(response), response };
    throw new HeddleApiError(outgoing, { status: response.status, headers, body: jsonOrText(await response.text()) });
  } catch (cause) {
    if (cause instanceof HeddleApiError) throw cause;
    const { host } = connection;
    throw new HeddleApiError(outgoing, { headers, host, cause: signal.aborted ? signal.reason : cause });
  }
}

function jsonOrText(text: string): unknown {
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    return text;
  }
}
