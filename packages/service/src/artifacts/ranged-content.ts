import type { ArtifactContent } from "@heddle/control-plane";
import type { ArtifactStores } from "./artifact-stores.js";
import { byteRange } from "./byte-range.js";
import { readContent } from "./read-content.js";

/** A response with content of a version: all of it, verified, or the part that a `Range` header asks for. */
export async function rangedContent(
  stores: Pick<ArtifactStores, "blobs">,
  content: ArtifactContent,
  rangeHeader: string | undefined,
) {
  const range = byteRange(rangeHeader, content.size_bytes);
  const options = range === undefined ? { verify: true } : { range };
  const { stream, start, end, size } = await readContent(stores, content, options);
  return {
    status: range === undefined ? (200 as const) : (206 as const),
    stream,
    headers: {
      "accept-ranges": "bytes",
      "content-length": String(end - start),
      ...(range !== undefined && { "content-range": `bytes ${start}-${end - 1}/${size}` }),
    },
  };
}
