import { ownerKey } from "./heddle-process.js";

/** What came back; `status` 0 when the connection broke before a response came. */
export interface Reply {
  status: number;
  text: string;
  headers: Headers;
  ms: number;
}

/** No request may take longer, whatever happens to the service: one that does counts as hung. */
const timeoutMs = 25_000;

export interface Wire {
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Reply>;
  get(path: string): Promise<Reply>;
  /** As `post`, for what must succeed; the parsed response. */
  ask<T>(path: string, body: unknown): Promise<T>;
  /** The rows of a stream. */
  rows<T>(path: string, body: unknown): Promise<T[]>;
  /** Requests that were given up after {@link timeoutMs}. */
  hung(): number;
  slowestMs(): number;
}

/** Plain requests without any retry, as the owner; each to the URL, or to the one that is named for it; what naming throws is thrown. */
export function wire(url: string | (() => string)): Wire {
  const base = typeof url === "string" ? () => url : url;
  let hung = 0;
  let slowest = 0;

  async function send(path: string, init: RequestInit): Promise<Reply> {
    const started = performance.now();
    const origin = base();
    const spent = () => {
      const ms = performance.now() - started;
      slowest = Math.max(slowest, ms);
      return ms;
    };
    try {
      const response = await fetch(`${origin}${path}`, { ...init, signal: AbortSignal.timeout(timeoutMs) });
      const text = await response.text();
      return { status: response.status, text, headers: response.headers, ms: spent() };
    } catch (error) {
      if (error instanceof Error && error.name === "TimeoutError") hung += 1;
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
      // Its text names the system's error, such as ECONNREFUSED.
      return { status: 0, text: `${String(error)} ${String(cause)}`, headers: new Headers(), ms: spent() };
    }
  }

  const authorization = `Bearer ${ownerKey}`;
  const post: Wire["post"] = (path, body, headers = {}) => {
    const raw = body instanceof Uint8Array ? new Uint8Array(body) : body;
    return raw instanceof FormData || raw instanceof Uint8Array
      ? send(path, { method: "POST", body: raw, headers: { authorization, ...headers } })
      : send(path, {
          method: "POST",
          body: JSON.stringify(body),
          headers: { authorization, "content-type": "application/json", ...headers },
        });
  };

  async function must(path: string, body: unknown): Promise<string> {
    const { status, text } = await post(path, body);
    if (status !== 200) throw new Error(`${path} responded ${status}: ${text}`);
    return text;
  }

  return {
    post,
    get: (path) => send(path, { headers: { authorization } }),
    ask: async <T>(path: string, body: unknown) => JSON.parse(await must(path, body)) as T,
    rows: async <T>(path: string, body: unknown) =>
      (await must(path, body))
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as T),
    hung: () => hung,
    slowestMs: () => slowest,
  };
}
