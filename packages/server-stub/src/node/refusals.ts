import { STATUS_CODES } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HttpResponse } from "../http.js";
import { requestIdHeader, requestIdOf } from "../request-id.js";

/** A request that got its response from the adapter: the server never saw it. */
export interface RefusedRequest {
  requestId: string;
  status: number;
  reason: string;
}

/** Why a request gets its response from the adapter. */
export interface Refusal {
  status: number;
  reason: string;
  headers?: Record<string, string>;
}

/** What HTTP requires of a request before its path matters; undefined where it is met. */
export function refusalOf(incoming: IncomingMessage): Refusal | undefined {
  const invalid = framingFault(incoming) ?? hostFault(incoming);
  if (invalid !== undefined) return { status: 400, reason: invalid };
  const { expect } = incoming.headers;
  if (expect === undefined || expect.toLowerCase() === "100-continue") return undefined;
  return { status: 417, reason: "The only expectation that can be met is 100-continue" };
}

/**
 * Why it is not certain where the body ends. A proxy that sees another end than the parser would pass on a request that it
 * has not seen.
 */
function framingFault({ headers, httpVersion }: IncomingMessage): string | undefined {
  const coding = headers["transfer-encoding"];
  if (coding === undefined) return undefined;
  // Of several headers, the parser joins the values.
  if (coding.toLowerCase() !== "chunked") return "Transfer-Encoding must be chunked, and given once";
  if (headers["content-length"] !== undefined) return "Transfer-Encoding excludes Content-Length";
  return httpVersion === "1.1" ? undefined : `HTTP/${httpVersion} has no Transfer-Encoding`;
}

function hostFault({ headers, rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  if (headers.host === undefined) return httpVersion === "1.1" ? "The header Host is missing" : undefined;
  return hasSecondHost(rawHeaders) ? "The header Host is given more than once" : undefined;
}

/** The parser keeps the first and drops the others. */
function hasSecondHost(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts > 1;
}

/** The response to a refused request, readable for clients of both interfaces. */
export function refusalResponse({ status, reason, headers }: Refusal): HttpResponse {
  return {
    status,
    headers: { "content-type": "application/json", connection: "close", ...headers },
    body: JSON.stringify({ reason, detail: reason }),
    drain: true,
  };
}

/** Responds to what could not be read as a request, and closes the connection. */
export function refuseUnreadable(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  running: Iterable<ServerResponse>,
): RefusedRequest | undefined {
  // A response in progress must not be followed by bytes of another.
  const isResponding = [...running].some((outgoing) => outgoing.socket === socket && outgoing.headersSent);
  if (!socket.writable || isResponding || error.code === "ECONNRESET") {
    socket.destroy();
    return undefined;
  }
  const [status, reason] = reasons[error.code ?? ""] ?? [400, "The request is not HTTP"];
  const requestId = requestIdOf(undefined);
  const { headers, body } = refusalResponse({ status, reason });
  const text = String(body);
  const lines = Object.entries({ ...headers, "content-length": Buffer.byteLength(text), [requestIdHeader]: requestId });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${text}`, () => socket.destroy());
  return { requestId, status, reason };
}

const reasons: Readonly<Record<string, [status: number, reason: string]>> = {
  HPE_HEADER_OVERFLOW: [431, "The headers of the request are too long"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "The chunk extensions of the request are too long"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "The headers of the request did not come in time"],
};
