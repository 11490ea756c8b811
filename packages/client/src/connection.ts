import type { Client } from "openapi-fetch";
import createClient from "openapi-fetch";

export interface ClientOptions {
  /** Where the service listens, for example `http://127.0.0.1:4680`. */
  baseUrl: string;
  /** The key; not needed for the open operations (health, version, server information). */
  apiKey?: string;
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
  timeout?: number;
  retries?: number;
  headers?: Record<string, string>;
  /**
   * Names the logical write, so that sending it twice writes once. Default: a new UUID per call, the same for all its
   * tries.
   */
  retryId?: string;
}

// Any operation: the generated functions have the types of each.
interface AnyOperation {
  requestBody?: { content: { "application/json": unknown } };
  responses: { 200: { content: { "application/json": unknown } } };
}
type Paths = Record<string, Record<"get" | "put" | "post" | "delete" | "patch", AnyOperation>>;

/** What the generated functions take as their first argument. Made by `connectTracing` and `connectTraining`. */
export interface Connection<Interface extends string = string> {
  readonly interface: Interface;
  readonly http: Client<Paths>;
  readonly retries: number;
  readonly timeout: number;
}

export function connect<Interface extends string>(
  name: Interface,
  authorization: string | undefined,
  { baseUrl, fetch, headers, retries = 3, timeout = 60_000 }: ClientOptions,
): Connection<Interface> {
  // Throws for a URL that this runtime cannot fetch; otherwise every request would be retried as a network failure.
  void new Request(baseUrl);
  const http = createClient<Paths>({
    baseUrl,
    // Looked up per request, so that a global fetch that is replaced later (instrumentation) is used.
    fetch: fetch ?? ((request) => globalThis.fetch(request)),
    headers: { authorization, ...headers },
  });
  return { interface: name, http, retries, timeout };
}
