import type { HttpParts } from "./requests.js";

/** The server under test. */
export interface Target {
  /** Without a slash at the end. */
  baseUrl: string;
  fetch: (input: string, init: RequestInit) => Promise<Response>;
  /** Milliseconds that one response may take. */
  timeoutMs: number;
}

/** A request and its response. */
export interface Exchange {
  request: HttpParts;
  status: number;
  headers: Headers;
  bytes: Uint8Array;
  text: string;
}

/** A check that the server did not pass. */
export class CheckFailure extends Error {
  override readonly name = "CheckFailure";
  readonly expected: string;
  readonly exchange: Exchange | undefined;

  /** `message` says what was found. */
  constructor(message: string, { expected, exchange }: { expected: string; exchange?: Exchange | undefined }) {
    super(message);
    this.expected = expected;
    this.exchange = exchange;
  }
}

/** A check that does not apply to what the server holds. */
export class CheckSkipped extends Error {
  override readonly name = "CheckSkipped";
}

/** The server responded with 501. */
export class NotImplemented extends Error {
  override readonly name = "NotImplemented";
}

/** Sends a request and reads the whole response. Throws `CheckFailure` when none arrives. */
export async function exchange(
  { baseUrl, fetch, timeoutMs }: Target,
  request: HttpParts,
  headers: Readonly<Record<string, string>>,
): Promise<Exchange> {
  const { method, target, body } = request;
  const signal = AbortSignal.timeout(timeoutMs);
  const init: RequestInit = { method, headers: { ...request.headers, ...headers }, signal, redirect: "manual" };
  try {
    const response = await fetch(baseUrl + target, body === undefined ? init : { ...init, body });
    const bytes = new Uint8Array(await response.arrayBuffer());
    return {
      request,
      status: response.status,
      headers: response.headers,
      bytes,
      text: new TextDecoder().decode(bytes),
    };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
    const reason = error instanceof Error ? error.message : String(error);
    throw new CheckFailure(`no complete response to ${method} ${target}: ${reason}${cause}`, {
      expected: "a complete response",
    });
  }
}
