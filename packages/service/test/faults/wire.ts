import { setTimeout as delay } from "node:timers/promises";
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

/**
 * Whether a client sends a request again that got this status: where there was no response, where the service was stopped while a
 * request came (408), and where it cannot respond now.
 */
export const isSentAgain = (status: number): boolean => status === 0 || status === 408 || status === 503;

/** Plain requests without any retry, as the owner; each to the URL, or to the one that is named for it; what naming throws is thrown. */
export function wire(url: string | (() => string), withinMs = timeoutMs): Wire {
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
      const response = await fetch(`${origin}${path}`, { ...init, signal: AbortSignal.timeout(withinMs) });
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

  const get: Wire["get"] = (path) => send(path, { headers: { authorization } });
  return { post, get, ...reads(post), hung: () => hung, slowestMs: () => slowest };
}

/** What must succeed, by requests that are sent as `post` does. */
function reads(post: Wire["post"]): Pick<Wire, "ask" | "rows"> {
  const must = async (path: string, body: unknown) => {
    const { status, text } = await post(path, body);
    if (status !== 200) throw new Error(`${path} responded ${status}: ${text}`);
    return text;
  };
  return {
    ask: async <T>(path: string, body: unknown) => JSON.parse(await must(path, body)) as T,
    rows: async <T>(path: string, body: unknown) =>
      (await must(path, body))
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as T),
  };
}

/**
 * As a client that sends again what got 503, when that says, and what got no response, or not all of one: for reads, and for
 * what may be stored twice. What the last attempt within `forMs` got is what it gets.
 */
export function patient(wire: Wire, forMs = 60_000): Wire {
  const again = async (send: () => Promise<Reply>): Promise<Reply> => {
    const end = performance.now() + forMs;
    for (;;) {
      const reply = await send();
      const isLater = isSentAgain(reply.status);
      if (!isLater || performance.now() > end) return reply;
      await delay(1000 * Number(reply.headers.get("retry-after") ?? 0.2));
    }
  };
  const post: Wire["post"] = async (...sent) => await again(async () => await wire.post(...sent));
  return { ...wire, post, get: async (path) => await again(async () => await wire.get(path)), ...reads(post) };
}
