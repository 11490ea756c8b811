import { once } from "node:events";
import http from "node:http";
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import https from "node:https";
import { HeddleError } from "@heddle/errors";
import type { ErrorCode } from "@heddle/errors";
import { reserveForStream } from "../limits/request-scope.js";
import { checkedLookup, checkLiteral, resolveHost } from "./addresses.js";
import type { Resolve } from "./addresses.js";

export interface OutgoingOptions {
  /** Requests go to these origins and nowhere else. */
  origins: readonly string[];
  allowPrivate: boolean;
  /** For a request with all its redirects and the whole response. */
  timeoutMs: number;
  /** For each connection, TLS included. */
  connectTimeoutMs?: number;
  maxRequestBytes?: number;
  maxResponseBytes?: number;
  /** For tests of addresses that no test has. */
  resolve?: Resolve;
  /** Called when a request has ended, its redirects included. */
  onEnd?: (request: ObservedRequest) => void;
}

/** A request that has ended: with the status of its response, or the code of its error. */
export interface ObservedRequest {
  outcome: number | ErrorCode;
  ms: number;
}

interface OutgoingRequest {
  method: "GET" | "POST";
  url: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Shorter than that of all requests. */
  timeoutMs?: number;
  /** Less than that of all responses. */
  maxResponseBytes?: number;
  /** Ends the request when the client of this service disconnects. */
  signal?: AbortSignal;
}

export interface OutgoingResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/**
 * Sends a request and reads its response. Every error is a `HeddleError` whose message holds neither credentials nor
 * addresses: `denied` for a host that requests may not go to, `too_large` for a request beyond the limit, `busy` for a
 * server that cannot be reached or does not respond in time, `aborted` when `signal` ended it, and `failed` for a response
 * that cannot be used.
 */
export type Outgoing = (request: OutgoingRequest) => Promise<OutgoingResponse>;

const maxRedirects = 3;
const mebibyte = 1024 * 1024;

/** The one way to servers of others. */
export function openOutgoing(options: OutgoingOptions): Outgoing {
  const {
    origins,
    allowPrivate,
    timeoutMs,
    connectTimeoutMs = 10_000,
    maxRequestBytes = 32 * mebibyte,
    maxResponseBytes = 64 * mebibyte,
    resolve = resolveHost,
    onEnd,
  } = options;
  const lookup = checkedLookup(allowPrivate, resolve);

  function checkUrl(url: URL): void {
    if (!origins.includes(url.origin)) {
      throw new HeddleError("denied", `${url.origin} is not among the configured origins`);
    }
    checkLiteral(url, allowPrivate);
  }

  async function exchange(url: URL, request: OutgoingRequest, signal: AbortSignal): Promise<OutgoingResponse> {
    const { method, headers, body, maxResponseBytes: maxBytes = maxResponseBytes } = request;
    const { request: open } = url.protocol === "https:" ? https : http;
    const sent = open(url, {
      method,
      // Of a compressed response, the limit would be one of compressed bytes.
      headers: {
        ...headers,
        "accept-encoding": "identity",
        ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
      },
      lookup,
      signal,
      agent: false,
    });
    endUnconnected(sent, connectTimeoutMs);
    sent.end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    // From here on, what ends the request ends the response.
    sent.on("error", () => {});
    const bytes = await readBody(response, Math.min(maxBytes, maxResponseBytes));
    return { status: response.statusCode ?? 0, headers: response.headers, body: bytes };
  }

  const send: Outgoing = async (request) => {
    let url = new URL(request.url);
    if (request.body !== undefined && Buffer.byteLength(request.body) > maxRequestBytes) {
      throw new HeddleError("too_large", `the request is larger than ${maxRequestBytes} bytes`);
    }
    const waitMs = Math.min(request.timeoutMs ?? timeoutMs, timeoutMs);
    const timeout = AbortSignal.timeout(waitMs);
    const signal = request.signal === undefined ? timeout : AbortSignal.any([timeout, request.signal]);
    try {
      for (let redirects = 0; ; redirects++) {
        checkUrl(url);
        const response = await exchange(url, request, signal);
        const target = redirectOf(response, url);
        if (target === undefined) return response;
        if (request.method !== "GET" || target.origin !== url.origin || redirects === maxRedirects) {
          throw new HeddleError("denied", `${url.host} redirects the request, which is not followed`);
        }
        url = target;
      }
    } catch (error) {
      if (request.signal?.aborted === true) throw new HeddleError("aborted", "the client disconnected");
      if (error instanceof HeddleError) throw error;
      if (timeout.aborted) {
        throw new HeddleError("busy", `${url.host} did not respond within ${waitMs / 1000} s`);
      }
      throw new HeddleError("busy", `${url.host} cannot be reached: ${reasonOf(error)}`, { cause: error });
    }
  };

  return async (request) => {
    const began = performance.now();
    let outcome: ObservedRequest["outcome"] = "failed";
    try {
      const response = await send(request);
      outcome = response.status;
      return response;
    } catch (error) {
      if (error instanceof HeddleError) outcome = error.code;
      throw error;
    } finally {
      onEnd?.({ outcome, ms: performance.now() - began });
    }
  };
}

function redirectOf({ status, headers }: OutgoingResponse, url: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined;
  const { location } = headers;
  if (location === undefined || !URL.canParse(location, url.href)) {
    throw new HeddleError("failed", `${url.host} redirects the request to no URL`);
  }
  return new URL(location, url);
}

/** A connection that is not there in time counts as unreachable. */
function endUnconnected(request: ClientRequest, ms: number): void {
  const timer = setTimeout(() => {
    request.destroy(Object.assign(new Error("connect timeout"), { code: "ETIMEDOUT" }));
  }, ms);
  const stop = () => clearTimeout(timer);
  request.on("socket", (socket) => socket.once("encrypted" in socket ? "secureConnect" : "connect", stop));
  request.on("close", stop);
}

/** Takes from the working memory until the response of the current request is sent. */
async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const encoding = response.headers["content-encoding"] ?? "identity";
  const reserve = reserveForStream();
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    if (encoding !== "identity") throw new HeddleError("failed", "the response is compressed, which was not asked for");
    const tooLarge = () => new HeddleError("failed", `the response is larger than ${maxBytes} bytes`);
    if (Number(response.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge();
      await reserve(chunk.length);
      chunks.push(chunk);
    }
  } finally {
    response.destroy();
  }
  return Buffer.concat(chunks);
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "it refuses connections",
  ECONNRESET: "it closed the connection",
  ENOTFOUND: "its name cannot be resolved",
  EAI_AGAIN: "its name cannot be resolved now",
  ETIMEDOUT: "no connection in time",
};

/** Messages of sockets name addresses. */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/.test(code)) return "its certificate is not valid";
  return reasons[code] ?? "the connection failed";
}
