import { BodyTooLarge, Overloaded } from "./http.js";
import type { Encoding, HttpRequest } from "./http.js";
import { Problem } from "./problem.js";

/**
 * The body of a request after undoing `content-encoding` (gzip, deflate with or without the zlib frame, identity).
 * `limit` holds for what was sent and for what it inflates to. Throws 413, 415, or 400 for data that does not inflate.
 */
export async function readBody(request: HttpRequest, limit: number): Promise<Uint8Array> {
  const encoding = request.header("content-encoding")?.trim().toLowerCase() ?? "";
  if (!["", "identity", "gzip", "x-gzip", "deflate"].includes(encoding)) {
    throw new Problem(415, `content-encoding "${encoding}" is not supported; send gzip, deflate or none`, {
      headers: { "accept-encoding": "gzip, deflate" },
    });
  }
  try {
    const sent = await request.bytes(limit);
    if (encoding === "" || encoding === "identity" || sent.length === 0) return sent;
    return await inflate(request, encoding === "deflate" ? deflateKind(sent) : "gzip", sent, limit);
  } catch (error) {
    if (error instanceof BodyTooLarge) throw new Problem(413, `Request too large: a body has at most ${limit} bytes`);
    throw error;
  }
}

async function inflate(request: HttpRequest, encoding: Encoding, sent: Uint8Array, limit: number): Promise<Uint8Array> {
  try {
    return await request.inflate(encoding, sent, limit);
  } catch (error) {
    if (error instanceof BodyTooLarge || error instanceof Overloaded) throw error;
    throw new Problem(400, `the body is not ${encoding === "gzip" ? "gzip" : "deflate"} data`);
  }
}

/** A zlib frame has a fixed method and a header that is a multiple of 31; anything else is the bare stream. */
function deflateKind(bytes: Uint8Array): Encoding {
  const [first = 0, second = 0] = bytes;
  return (first & 15) === 8 && (first * 256 + second) % 31 === 0 ? "zlib" : "deflate-raw";
}

/** One for all: making a decoder costs more than decoding a small body. */
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8 strictly and drops a byte order mark. Throws 400. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Problem(400, "the body is not valid UTF-8");
  }
}

/** `text/plain; charset=utf-8` → `text/plain` */
export function mediaTypeOf(request: HttpRequest): string {
  return (request.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}
