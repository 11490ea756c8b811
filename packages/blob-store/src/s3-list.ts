import { HeddleError } from "@heddle/errors";
import { textOf } from "./s3-request.js";
import type { S3 } from "./s3-request.js";
import { elementOf, elementsOf } from "./xml.js";

export interface S3Entry {
  key: string;
  size: number;
  /** Microseconds since 1970. */
  modifiedAt: bigint;
}

/**
 * Every object whose key begins with `prefix`, in the order of keys, `page` (1,000 at most) per request. The first
 * version of the operation serves: the second only adds opaque tokens, which not every server that calls itself S3 has
 * right.
 */
export async function* listObjects(
  send: S3["send"],
  bucket: string,
  prefix: string,
  page: number,
): AsyncGenerator<S3Entry> {
  let marker = "";
  for (;;) {
    const query = { prefix, marker, "max-keys": String(page) };
    const found = textOf(await send({ method: "GET", key: "", query }), bucket);
    const entries = elementsOf(found, "Contents");
    for (const entry of entries) {
      marker = elementOf(entry, "Key") ?? "";
      yield {
        key: marker,
        size: Number(elementOf(entry, "Size")),
        modifiedAt: timeOf(elementOf(entry, "LastModified")),
      };
    }
    if (elementOf(found, "IsTruncated") !== "true" || entries.length === 0) return;
  }
}

export interface S3Upload {
  key: string;
  uploadId: string;
  begunAt: bigint;
}

/** Uploads that were neither completed nor aborted. */
export async function* listUploads(send: S3["send"], bucket: string, prefix: string): AsyncGenerator<S3Upload> {
  let marker: Record<string, string> | undefined = {};
  while (marker !== undefined) {
    const page: string = textOf(
      await send({ method: "GET", key: "", query: { uploads: "", prefix, ...marker } }),
      bucket,
    );
    for (const entry of elementsOf(page, "Upload")) {
      yield {
        key: elementOf(entry, "Key") ?? "",
        uploadId: elementOf(entry, "UploadId") ?? "",
        begunAt: timeOf(elementOf(entry, "Initiated")),
      };
    }
    marker =
      elementOf(page, "IsTruncated") === "true"
        ? {
            "key-marker": elementOf(page, "NextKeyMarker") ?? "",
            "upload-id-marker": elementOf(page, "NextUploadIdMarker") ?? "",
          }
        : undefined;
  }
}

/** A time of S3's, of either kind: in lists and in headers. */
export function timeOf(text: string | null | undefined): bigint {
  const ms = Date.parse(text ?? "");
  if (Number.isNaN(ms)) throw new HeddleError("busy", `the file store gives no time: ${text}`);
  return BigInt(ms) * 1000n;
}
