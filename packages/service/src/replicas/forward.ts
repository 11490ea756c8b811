import http from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { once } from "node:events";
import type { HttpRequest, HttpResponse } from "@heddle/server-stub";

/** Of a connection, not of a request (RFC 9110 §7.6.1), and what the adapter answers itself. */
const ofConnection = new Set([
  "connection",
  "expect",
  "keep-alive",
  "proxy-authenticate",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Longer bodies are passed on as they come. */
const wholeBytes = 65_536;

/** The other replica cannot be reached, and nothing of the request was sent: it can be sent to another one. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

/** The connection to the other replica ended before its response: whether it did what was asked is unknown. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";
}

export interface ForwardOptions {
  /** Origin of the other replica. */
  url: URL;
  agent: http.Agent;
  /** Added to those of the request. */
  headers: Record<string, string>;
  connectMs: number;
  /** Ends the request, and its response. */
  signal: AbortSignal;
}

/**
 * Sends a request on as it came, as it comes, and returns the response as it comes: neither is read faster than the other
 * end takes it. Throws {@link NotSent} and {@link Unanswered}, and what reading the body of the request throws.
 */
export async function forward(request: HttpRequest, options: ForwardOptions): Promise<HttpResponse> {
  const { url, agent, signal } = options;
  const sent = http.request({
    agent,
    hostname: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port || 80,
    method: request.method,
    path: request.target,
    headers: { ...forwardedHeaders(request.headers?.() ?? {}), ...options.headers },
    signal,
  });
  // Every error is seen by who waits for the connection or the response.
  sent.on("error", () => {});
  await connected(sent, options.connectMs);
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  const failure = new AbortController();
  const sending = sendBody(request, sent).catch((error: unknown) => {
    failure.abort(error);
    sent.destroy();
  });
  try {
    const [response] = await answered;
    return await responseOf(request, response, () => sending);
  } catch (error) {
    if (failure.signal.aborted) throw failure.signal.reason;
    throw new Unanswered("the other replica ended the connection", { cause: error });
  }
}

/**
 * Resolves when there is a connection, which a request may have from an earlier one. Throws {@link NotSent} where there is
 * none after `ms`.
 */
export async function connected(sent: ClientRequest, ms: number): Promise<void> {
  const timer = setTimeout(() => sent.destroy(new Error("no connection in time")), ms);
  try {
    const [socket] = sent.socket === null ? await once(sent, "socket") : [sent.socket];
    if (socket.connecting) await Promise.race([once(socket, "connect"), once(sent, "close").then(closed)]);
  } catch (error) {
    throw new NotSent("the other replica cannot be reached", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function closed(): never {
  throw new Error("the connection was closed");
}

async function sendBody(request: HttpRequest, sent: ClientRequest): Promise<void> {
  const hasBody = request.header("content-length") !== undefined || request.header("transfer-encoding") !== undefined;
  if (hasBody) {
    for await (const chunk of request.stream(Infinity)) {
      // Refused before it was read whole.
      if (sent.destroyed) return;
      if (!sent.write(chunk)) await writable(sent);
    }
  }
  sent.end();
}

/** What ends the connection ends the response, too. */
async function writable(sent: ClientRequest): Promise<void> {
  // Takes the listeners away again.
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(sent, "drain", { signal }), once(sent, "close", { signal })]).catch(() => {});
  waiting.abort();
}

/** A short body is read whole: a client that is still sending gets it before its connection is closed. */
async function responseOf(
  request: HttpRequest,
  response: IncomingMessage,
  sending: () => Promise<unknown>,
): Promise<HttpResponse> {
  const { statusCode: status = 502 } = response;
  const headers = forwardedHeaders(response.headers);
  if (request.method === "HEAD" || status === 204 || status === 304) {
    response.resume();
    return { status, headers };
  }
  const length = Number(response.headers["content-length"] ?? Infinity);
  if (length <= wholeBytes) {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status, headers, body: Buffer.concat(chunks), ...(status >= 400 && { drain: true }) };
  }
  return {
    status,
    headers,
    body: async (sink) => {
      sink.onClose(() => response.destroy());
      for await (const chunk of response) {
        if (sink.closed) return;
        await sink.write(chunk as Buffer);
      }
      await sending();
    },
  };
}

function forwardedHeaders(all: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const listed = [all["connection"] ?? ""].flat().join(",").toLowerCase().split(",");
  const named = new Set(listed.map((name) => name.trim()));
  const kept = Object.entries(all).filter(([name]) => !ofConnection.has(name) && !named.has(name));
  return Object.fromEntries(kept.map(([name, value = ""]) => [name, [value].flat().join(", ")]));
}
