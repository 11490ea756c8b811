import type { RawPlans } from "./raw/plan.js";

export interface ClientOptions {
  /** Where the service listens, for example `http://127.0.0.1:4680`. */
  baseUrl: string;
  /** The key; not needed for the open operations (health, version, server information). */
  apiKey?: string;
  /** The token of a session, in place of a key: in a browser, which sends the other half, the cookie, by itself. */
  session?: string;
  /** Replaces the global `fetch`: a proxy, a test double, or a server in the same process. */
  fetch?: (request: Request) => Promise<Response>;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Further tries after the first one fails for a reason that may pass. Default 3. */
  retries?: number;
  /**
   * Milliseconds one attempt may take until its response is complete; for a stream, until it begins. Default 60000; 0
   * is no limit.
   */
  timeout?: number;
}

export interface RequestOptions {
  /** Aborts the request, its waits between tries, and a stream at any point. */
  signal?: AbortSignal;
  /** As in the options of the client. */
  timeout?: number;
  /** As in the options of the client. */
  retries?: number;
  /** Sent with this request, in place of those of the client with the same names. */
  headers?: Record<string, string>;
  /**
   * Names the logical write, so that sending it twice writes once. Default: a new UUID per call, the same for all its
   * tries.
   */
  retryId?: string;
  /**
   * Called with status, headers and request id of each successful response: once, for a stream when it begins, for a
   * cursor list once per page. Those of an error are properties of the `HeddleApiError`.
   */
  onResponse?: (response: ResponseInfo) => void;
  /**
   * `true` keeps free JSON of the response (inputs, output, values, rows…) as exact text: as `RawJson` with `text`, and
   * `value` that is parsed when it is read. Default: it is parsed with the rest, which rounds large numbers.
   */
  raw?: false;
}

/** Those of a request whose response is to have free JSON as it was recorded. */
export interface RawRequestOptions extends Omit<RequestOptions, "raw"> {
  raw: true;
}

export type AnyRequestOptions = RequestOptions | RawRequestOptions;

/** A successful response without its body. */
export interface ResponseInfo {
  readonly status: number;
  readonly headers: Headers;
  /** Value of the `x-request-id` header, by which the service's log names the request. */
  readonly requestId: string | undefined;
}

/** What the generated functions take as their first argument. Made by `connectTracing` and `connectTraining`. */
export interface Connection<Interface extends string = string> {
  readonly interface: Interface;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Name and port, for messages. */
  readonly host: string;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly retries: number;
  readonly timeout: number;
  /** Loads where responses of the interface have free JSON. */
  readonly rawPlans: (() => Promise<{ raw: RawPlans }>) | undefined;
}

export function connect<Interface extends string>(
  name: Interface,
  authorization: string | undefined,
  { baseUrl, fetch, session, headers, retries = 3, timeout = 60_000 }: ClientOptions,
  rawPlans?: Connection["rawPlans"],
): Connection<Interface> {
  // Throws for a URL that this runtime cannot fetch, before the first request.
  const { url } = new Request(baseUrl);
  return {
    interface: name,
    host: new URL(url).host,
    baseUrl: baseUrl.replace(/\/$/, ""),
    // Looked up per request, so that a global fetch that is replaced later (instrumentation) is used.
    fetch: fetch ?? ((request) => globalThis.fetch(request)),
    headers: { authorization, "x-heddle-session": session, ...headers },
    retries,
    timeout,
    rawPlans,
  };
}
