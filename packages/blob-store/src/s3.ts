import { createHash, randomUUID } from "node:crypto";
import { keyLocks } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import { abandonedBefore } from "./abandoned-drafts.js";
import { checkDigest, sha256Of } from "./digest.js";
import { digestOf, keyOf } from "./keys.js";
import type { BlobEntry, BlobInfo, BlobReadOptions, BlobReader, BlobSource, BlobStore } from "./port.js";
import { resolveRange } from "./range.js";
import { listObjects, listUploads, timeOf } from "./s3-list.js";
import { denied, pathOf, s3Client, textOf } from "./s3-request.js";
import type { S3Access, S3Timeouts } from "./s3-request.js";
import { beginUpload, inParts } from "./s3-upload.js";
import { verified } from "./verify.js";

export interface S3Sizes {
  /** Of an upload's parts. */
  partBytes: number;
  /** The most that one request copies. */
  copyBytes: number;
  /** Keys of one page of a list. */
  page: number;
}

const megabyte = 1024 * 1024;
const sizes: S3Sizes = { partBytes: 8 * megabyte, copyBytes: 1024 * megabyte, page: 1000 };

/** A blob put within this time is not sent again. Collectors must not delete younger ones. */
const young = 600_000_000n;

const blobs = "sha256/";
const madeHere =
  /^(tmp\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(sha256|renewed)\/[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{64})$/;

/**
 * Opens a bucket, or a part of one, as a blob store. What is put becomes visible under its key only once it is complete
 * and its digest is known: small content is sent in one request, a stream to a key under `tmp/` and copied from there.
 */
export async function openS3(
  url: string,
  access: S3Access,
  { partBytes, copyBytes, page }: S3Sizes = sizes,
  timeouts?: S3Timeouts,
): Promise<BlobStore> {
  const { bucket, prefix } = placeOf(url);
  const { send, receive } = s3Client(bucket, access, timeouts);
  // A collector never deletes a blob that is put again after the collector has found it old.
  const locked = keyLocks();
  const found = textOf(await send({ method: "GET", key: "", query: { prefix, "max-keys": "1" } }), bucket);
  if (!found.includes("<ListBucketResult"))
    throw denied("the server at AWS_ENDPOINT_URL is not S3: its response is not a list");

  async function entryOf(key: string, object = prefix + key): Promise<BlobEntry | undefined> {
    const sha256 = digestOf(key);
    const { status, headers } = await send({ method: "HEAD", key: object });
    if (status === 404) return undefined;
    const size = headers.get("content-length");
    if (size === null) throw new HeddleError("busy", "the file store gives no size");
    return { key, size: Number(size), sha256, modifiedAt: timeOf(headers.get("last-modified")) };
  }

  /**
   * Where a second copy of a blob is that was put again. S3 has no deletion of what is old only: a collector in another process
   * that has found the blob old may delete it any moment later, also when it was suspended meanwhile.
   */
  const renewedOf = (key: string): string => `${prefix}renewed/${key.slice(blobs.length)}`;

  /** Puts a blob back that was deleted as old after it was put again. */
  async function restore(key: string): Promise<BlobEntry | undefined> {
    const entry = await entryOf(key, renewedOf(key));
    if (entry !== undefined) await copy(renewedOf(key), prefix + key, entry.size);
    return entry;
  }

  async function stat(key: string): Promise<BlobInfo | undefined> {
    const entry = (await entryOf(key)) ?? (await restore(key));
    return entry && { key, size: entry.size, sha256: entry.sha256 };
  }

  async function putBytes(bytes: Uint8Array, expected: string | undefined): Promise<BlobInfo> {
    const sha256 = sha256Of(bytes);
    checkDigest(sha256, expected);
    const key = keyOf(sha256);
    await locked(key, async () => {
      const found = await entryOf(key);
      if (found?.size === bytes.length && BigInt(Date.now()) * 1000n - found.modifiedAt < young) return;
      for (const object of found === undefined ? [prefix + key] : [renewedOf(key), prefix + key])
        textOf(await send({ method: "PUT", key: object, body: bytes }), bucket);
    });
    return { key, size: bytes.length, sha256 };
  }

  async function putParts(parts: AsyncIterable<Uint8Array>, expected: string | undefined): Promise<BlobInfo> {
    const hash = createHash("sha256");
    const draft = `${prefix}tmp/${randomUUID()}`;
    const upload = await beginUpload(send, bucket, draft);
    let size = 0;
    let complete = false;
    try {
      for await (const part of parts) {
        hash.update(part);
        await upload.add(part);
        size += part.length;
      }
      const sha256 = hash.digest("hex");
      checkDigest(sha256, expected);
      complete = true;
      await upload.complete();
      const key = keyOf(sha256);
      await locked(key, async () => {
        if ((await entryOf(key)) !== undefined) await copy(draft, renewedOf(key), size);
        await copy(draft, prefix + key, size);
      });
      await remove(draft).catch(() => undefined);
      return { key, size, sha256 };
    } catch (error) {
      // Completing may have failed or not.
      await Promise.all([upload.abort(), complete && remove(draft).catch(() => undefined)]);
      throw error;
    }
  }

  async function copy(from: string, to: string, size: number): Promise<void> {
    if (size <= copyBytes) {
      const headers = { "x-amz-copy-source": `/${bucket}/${pathOf(from)}` };
      textOf(await send({ method: "PUT", key: to, headers, long: true }), bucket);
      return;
    }
    const upload = await beginUpload(send, bucket, to);
    try {
      for (let start = 0; start < size; start += copyBytes) {
        await upload.copy(from, start, Math.min(start + copyBytes, size));
      }
      await upload.complete();
    } catch (error) {
      await upload.abort();
      throw error;
    }
  }

  async function remove(key: string): Promise<void> {
    await send({ method: "DELETE", key });
  }

  async function* read(key: string, start: number, end: number): AsyncGenerator<Uint8Array> {
    if (start === end) return;
    const headers = { range: `bytes=${start}-${end - 1}` };
    let left = end - start;
    for await (const chunk of receive({ method: "GET", key: prefix + key, headers })) {
      yield chunk.length <= left ? chunk : chunk.subarray(0, left);
      left -= chunk.length;
      if (left <= 0) return;
    }
    throw new HeddleError("busy", "the connection to the file store broke");
  }

  /** Whether a key is one of this store: a bucket may be shared, and other objects may have the same prefix. */
  const isOurs = (key: string): boolean => key.startsWith(prefix) && madeHere.test(key.slice(prefix.length));

  async function discardDrafts(begunBefore: bigint): Promise<void> {
    for await (const { key, uploadId, begunAt } of listUploads(send, bucket, prefix)) {
      if (begunAt < begunBefore && isOurs(key)) await send({ method: "DELETE", key, query: { uploadId } });
    }
    for await (const { key, modifiedAt } of listObjects(send, bucket, `${prefix}tmp/`, page)) {
      if (modifiedAt < begunBefore && isOurs(key)) await remove(key);
    }
    for await (const { key: full, modifiedAt } of listObjects(send, bucket, `${prefix}renewed/`, page)) {
      if (modifiedAt >= begunBefore || !isOurs(full)) continue;
      const key = blobs + full.slice(`${prefix}renewed/`.length);
      if ((await entryOf(key)) === undefined) await restore(key);
      await remove(full);
    }
  }

  // Not every server lists uploads, and not every account may: then the bucket's lifecycle rules have to delete them.
  await discardDrafts(abandonedBefore()).catch(() => undefined);

  return {
    async put(source: BlobSource, options = {}) {
      const { expectedSha256 } = options;
      if (expectedSha256 !== undefined) keyOf(expectedSha256);
      if (source instanceof Uint8Array && source.length <= partBytes) return await putBytes(source, expectedSha256);
      const parts = inParts(source instanceof Uint8Array ? once(source) : source, partBytes);
      const first = await parts.next();
      const start = first.done === true ? new Uint8Array() : first.value;
      return start.length < partBytes
        ? await putBytes(start, expectedSha256)
        : await putParts(followed(start, parts), expectedSha256);
    },

    async get(key: string, options: BlobReadOptions = {}): Promise<BlobReader> {
      const found = await stat(key);
      if (found === undefined) throw new HeddleError("not_found", `no blob ${key}`);
      const { start, end } = resolveRange(options.range, found.size);
      if (options.verify === true && options.range !== undefined) {
        throw new HeddleError("invalid", "only a read of the whole blob can be verified");
      }
      const bytes = read(key, start, end);
      return { ...found, start, end, stream: options.verify === true ? verified(bytes, found.sha256) : bytes };
    },

    stat,

    delete: async (key, { putBefore } = {}) =>
      await locked(key, async () => {
        const found = await entryOf(key);
        if (found === undefined || (putBefore !== undefined && found.modifiedAt >= putBefore)) return false;
        if (putBefore === undefined) await remove(renewedOf(key));
        await remove(prefix + key);
        return true;
      }),

    async *list() {
      for await (const { key: full, size, modifiedAt } of listObjects(send, bucket, prefix + blobs, page)) {
        const key = full.slice(prefix.length);
        const sha256 = key.slice(key.lastIndexOf("/") + 1);
        if (/^[0-9a-f]{64}$/.test(sha256) && keyOf(sha256) === key) yield { key, size, sha256, modifiedAt };
      }
    },

    discardDrafts,

    async check() {
      textOf(await send({ method: "GET", key: "", query: { prefix, "max-keys": "1" } }), bucket);
    },
    close: async () => {},
  };
}

/** `s3://bucket/some/prefix` */
function placeOf(url: string): { bucket: string; prefix: string } {
  const [, bucket, path = ""] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([^?#]*))?$/.exec(url) ?? [];
  if (bucket === undefined) throw new HeddleError("invalid", `not an S3 URL, s3://bucket/prefix: ${url}`);
  const folders = path.split("/").filter((folder) => folder !== "");
  // In a URL these would lead out of the bucket.
  if (folders.includes(".") || folders.includes(".."))
    throw new HeddleError("invalid", `no folder of a bucket: ${url}`);
  return { bucket, prefix: folders.map((folder) => `${folder}/`).join("") };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* followed(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}
