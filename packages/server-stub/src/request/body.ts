import { BodyTooLarge, Overloaded } from "../http.js";
import type { BodyForm, Encoding, HttpRequest } from "../http.js";
import { Problem } from "../problem.js";

/**
 * The body of a request after undoing `content-encoding` (gzip, deflate with or without the zlib frame, identity).
 * `limit` holds for what was sent and for what it inflates to. Throws 413, 415, or 400 for data that does not inflate.
 * `form` is what is enough of a body that a framework has read before; default: its bytes.
 */
export async function readBody(request: HttpRequest, limit: number, form?: BodyForm): Promise<Uint8Array> {
  const encoding = contentEncoding(request);
  try {
    const sent = await request.bytes(limit, form);
    if (encoding === "" || sent.length === 0) return sent;
    return await inflate(request, encoding === "deflate" ? deflateKind(sent) : "gzip", sent, limit);
  } catch (error) {
    throw error instanceof BodyTooLarge ? tooLarge(limit) : error;
  }
}

/** As `readBody`, without waiting for the whole: throws the same while it is read. */
export async function* openBody(request: HttpRequest, limit: number): AsyncGenerator<Uint8Array> {
  const encoding = contentEncoding(request);
  let failure: unknown;
  async function* sent(): AsyncGenerator<Uint8Array> {
    try {
      yield* request.stream(limit);
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  try {
    if (encoding === "") yield* sent();
    else yield* limited(await inflated(encoding, sent()), limit);
  } catch (error) {
    // Inflating replaces errors of its source.
    const reason = failure ?? error;
    if (reason instanceof BodyTooLarge) throw tooLarge(limit);
    if (failure === undefined && encoding !== "" && !(reason instanceof Problem)) throw notInflatable(encoding);
    throw reason;
  }
}

async function inflated(encoding: string, sent: AsyncGenerator<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const { value: first = new Uint8Array(), done } = await sent.next();
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield first;
    if (done !== true) yield* sent;
  }
  const kind = encoding === "deflate" ? deflateKind(first) : "gzip";
  const format = kind === "zlib" ? "deflate" : kind;
  return ReadableStream.from(whole()).pipeThrough(new DecompressionStream(format));
}

async function* limited(stream: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    yield chunk;
  }
}

/** Empty for none. Throws 415. */
function contentEncoding(request: HttpRequest): string {
  const encoding = request.header("content-encoding")?.trim().toLowerCase() ?? "";
  if (encoding === "identity") return "";
  if (["", "gzip", "x-gzip", "deflate"].includes(encoding)) return encoding;
  throw new Problem(415, `content-encoding "${encoding}" is not supported; send gzip, deflate or none`, {
    headers: { "accept-encoding": "gzip, deflate" },
  });
}

function tooLarge(limit: number): Problem {
  return new Problem(413, `Request too large: a body has at most ${limit} bytes`);
}

function notInflatable(encoding: string): Problem {
  return new Problem(400, `the body is not ${encoding === "deflate" ? "deflate" : "gzip"} data`);
}

async function inflate(request: HttpRequest, encoding: Encoding, sent: Uint8Array, limit: number): Promise<Uint8Array> {
  try {
    return await request.inflate(encoding, sent, limit);
  } catch (error) {
    if (error instanceof BodyTooLarge || error instanceof Overloaded) throw error;
    throw notInflatable(encoding === "gzip" ? encoding : "deflate");
  }
}

/** A zlib frame has a fixed method and a header that is a multiple of 31; anything else is the bare stream. */
function deflateKind(bytes: Uint8Array): Encoding {
  const [first = 0, second = 0] = bytes;
  return (first & 15) === 8 && (first * 256 + second) % 31 === 0 ? "zlib" : "deflate-raw";
}

/** Decodes UTF-8 strictly and drops a byte order mark. */
export const textDecoder = () => new TextDecoder("utf-8", { fatal: true });

/** One for all: making a decoder costs more than decoding a small body. */
const utf8 = textDecoder();

/** Decodes UTF-8 strictly and drops a byte order mark. Throws 400. With a decoder of its own, `stream` says that more follows. */
export function decodeText(bytes: Uint8Array, decoder = utf8, stream = false): string {
  try {
    return decoder.decode(bytes, { stream });
  } catch {
    throw new Problem(400, "the body is not valid UTF-8");
  }
}

/** `text/plain; charset=utf-8` → `text/plain` */
export function mediaTypeOf(request: HttpRequest): string {
  return (request.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}
