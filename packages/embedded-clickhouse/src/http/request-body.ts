import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream";
import type { Readable, Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { ServerError } from "../engine/server-error.js";

/** The body as it was before Content-Encoding. */
export function decodedBody(request: IncomingMessage): Readable {
  const encoding = (request.headers["content-encoding"] ?? "").toLowerCase();
  const decoder = decoders.get(encoding);
  if (!decoder) {
    throw ServerError.of(
      89,
      "UNKNOWN_COMPRESSION_METHOD",
      `Unknown compression method ${encoding}. Only gzip, deflate and br are supported here.`,
    );
  }
  const transform = decoder();
  if (!transform) return request;
  // An error of either stream reaches the reader through the transform.
  pipeline(request, transform, () => undefined);
  return transform;
}

const decoders = new Map<string, () => Transform | undefined>([
  ["", () => undefined],
  ["identity", () => undefined],
  ["gzip", () => createGunzip()],
  ["deflate", () => createInflate()],
  ["br", () => createBrotliDecompress()],
]);

/** The longest text of a query, which is what the engine's `max_query_size` allows. */
const maxQueryBytes = 64 * 1024 * 1024;

/** Reads all of a body that is a query's text. */
export async function readWhole(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > maxQueryBytes) throw ServerError.of(229, "QUERY_IS_TOO_LARGE", "Query is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
