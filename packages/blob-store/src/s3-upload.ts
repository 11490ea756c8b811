import { HeddleError } from "@heddle/errors";
import type { BlobSource } from "./port.js";
import { pathOf, textOf } from "./s3-request.js";
import type { S3 } from "./s3-request.js";
import { elementOf } from "./xml.js";

/** Most parts that S3 takes in one upload. */
const mostParts = 10_000;

/** A multipart upload under way; nothing of it is visible before it is completed. */
export interface Upload {
  /** The next part. All but the last must have the same size. */
  add(bytes: Uint8Array): Promise<void>;
  /** The next part, copied from bytes `start` to `end` (exclusive) of another object. */
  copy(source: string, start: number, end: number): Promise<void>;
  complete(): Promise<void>;
  /** Deletes the parts stored so far. It never throws: what remains is discarded later. */
  abort(): Promise<void>;
}

export async function beginUpload(send: S3["send"], bucket: string, key: string): Promise<Upload> {
  const begun = textOf(await send({ method: "POST", key, query: { uploads: "" } }), bucket);
  const uploadId = elementOf(begun, "UploadId");
  if (uploadId === undefined) throw new HeddleError("busy", "the file store began no upload");
  const etags: string[] = [];

  const nextPart = (): Record<string, string> => {
    if (etags.length === mostParts) throw new HeddleError("too_large", `a blob takes at most ${mostParts} parts`);
    return { partNumber: String(etags.length + 1), uploadId };
  };

  return {
    async add(bytes) {
      const response = await send({ method: "PUT", key, query: nextPart(), body: bytes });
      textOf(response, bucket);
      etags.push(response.headers.get("etag") ?? "");
    },
    async copy(source, start, end) {
      const headers = {
        "x-amz-copy-source": `/${bucket}/${pathOf(source)}`,
        "x-amz-copy-source-range": `bytes=${start}-${end - 1}`,
      };
      const copied = textOf(await send({ method: "PUT", key, query: nextPart(), headers, long: true }), bucket);
      etags.push(elementOf(copied, "ETag") ?? "");
    },
    async complete() {
      const parts = etags.map((etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`);
      const body = Buffer.from(`<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`);
      textOf(await send({ method: "POST", key, query: { uploadId }, body, long: true }), bucket);
    },
    async abort() {
      await send({ method: "DELETE", key, query: { uploadId } }).catch(() => undefined);
    },
  };
}

/** Cuts a stream into pieces of exactly `size` bytes, but for the last. */
export async function* inParts(source: Exclude<BlobSource, Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes < size) continue;
    const joined = Buffer.concat(held);
    const whole = joined.length - (joined.length % size);
    for (let start = 0; start < whole; start += size) yield joined.subarray(start, start + size);
    held = [joined.subarray(whole)];
    bytes = joined.length - whole;
  }
  if (bytes > 0) yield Buffer.concat(held);
}
