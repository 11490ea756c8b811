import { once } from "node:events";
import http from "node:http";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import https from "node:https";
import { ServerUnreachable } from "./server-unreachable.js";

export interface HttpClientSettings {
  /** Base URL; paths of requests are appended to it. */
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** Limit for a connection, TLS included. Default 10 s. */
  connectTimeoutMs?: number;
}

interface HttpRequest {
  method: "GET" | "POST" | "DELETE";
  /** Path below the base URL, or an absolute URL; the headers of the settings are sent to the base URL's origin only. */
  path: string;
  /** Bytes are sent as they are, with the type that `headers` say, and everything else as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** Limit until the headers of the response, and then for each pause in its body. */
  timeoutMs: number;
  signal?: AbortSignal;
}

export interface HttpResponse {
  host: string;
  status: number;
  headers: IncomingHttpHeaders;
  /** Must be read or destroyed. */
  stream: IncomingMessage;
}

/**
 * Sends one request on a connection of its own: a reused connection that the server closes at the same moment would
 * leave it unknown whether the request was processed. Follows no redirects.
 *
 * @throws ServerUnreachable when there is no complete response, also when the signal aborted it.
 */
export type HttpClient = (request: HttpRequest) => Promise<HttpResponse>;

export function openHttpClient(settings: HttpClientSettings): HttpClient {
  const { connectTimeoutMs = 10_000, headers: ownHeaders = {} } = settings;
  const base = new URL(settings.url.endsWith("/") ? settings.url : `${settings.url}/`);

  return async ({ method, path, body, headers, timeoutMs, signal }) => {
    const url = new URL(path, base);
    const content = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);
    let connected = false;
    const request = (url.protocol === "https:" ? https : http).request(url, {
      method,
      headers: {
        ...(url.origin === base.origin && ownHeaders),
        ...(content !== undefined && {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(content),
        }),
        ...headers,
        "accept-encoding": "identity",
      },
      signal,
      agent: false,
    });
    const fail = (reason: string) => request.destroy(Object.assign(new Error(reason), { code: reason }));
    const connecting = setTimeout(() => fail("ETIMEDOUT"), connectTimeoutMs);
    request.on("socket", (socket) =>
      socket.once("encrypted" in socket ? "secureConnect" : "connect", () => {
        connected = true;
        clearTimeout(connecting);
      }),
    );
    request.on("close", () => clearTimeout(connecting));
    request.setTimeout(timeoutMs, () => fail("RESPONSE_TIMEOUT"));
    request.end(content);
    try {
      const [stream] = (await once(request, "response")) as [IncomingMessage];
      // An error that ends the request from here on also ends the stream.
      request.on("error", () => {});
      return { host: url.host, status: stream.statusCode ?? 0, headers: stream.headers, stream };
    } catch (error) {
      throw new ServerUnreachable(url.host, error, { sent: connected, aborted: signal?.aborted === true });
    }
  };
}

/**
 * Reads a complete body.
 *
 * @throws ServerUnreachable when the connection ends before it or it has more than `maxBytes`.
 */
export async function readBody(
  { host, stream }: HttpResponse,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw Object.assign(new Error("too long"), { code: "RESPONSE_TOO_LARGE" });
      chunks.push(chunk);
    }
  } catch (error) {
    throw new ServerUnreachable(host, error, { sent: true, aborted: signal?.aborted === true });
  } finally {
    stream.destroy();
  }
  return Buffer.concat(chunks);
}
