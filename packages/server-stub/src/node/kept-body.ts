import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { BodyAlreadyRead } from "../http.js";
import type { BodyForm } from "../http.js";

/** What body parsers leave on a request that they have read. */
interface Parsed {
  /** The bytes, of parsers that keep them besides the value. */
  rawBody?: unknown;
  body?: unknown;
}

interface WithHeaders {
  headers: IncomingHttpHeaders;
}

/** Whether something else has begun to read the body: its bytes will not come again. */
export function isAlreadyRead(incoming: Readable): boolean {
  return incoming.readableDidRead || incoming.readableEnded;
}

/**
 * The body of a request that a framework has read, from what it has kept of it: bytes and text as they were sent, a parsed
 * JSON value only where `form` allows it. What it has kept is inflated. Throws `BodyAlreadyRead`.
 */
export function keptBody(incoming: Readable & WithHeaders & Parsed, form: BodyForm): Uint8Array {
  const { rawBody, body } = incoming;
  for (const kept of [rawBody, body]) if (kept instanceof Uint8Array) return kept;
  if (!incoming.readableDidRead) return new Uint8Array();
  if (form !== "bytes" && typeof body === "string") return Buffer.from(body);
  if (form === "value" && body !== undefined && isJson(incoming)) return Buffer.from(JSON.stringify(body));
  throw new BodyAlreadyRead(
    "A body parser has read this request before the server got it, and kept too little of its body. Mount the server " +
      "ahead of the body parser (Express: app.use before express.json(); Nest: app.use before listen; Fastify: in an " +
      "onRequest hook), or let the parser keep the bytes (express.raw, rawBody: true)",
  );
}

function isJson(incoming: WithHeaders): boolean {
  return /^application\/([^/;]+\+)?json\b/i.test(incoming.headers["content-type"] ?? "");
}
