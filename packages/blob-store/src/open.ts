import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { HeddleError } from "@heddle/errors";
import { openDirectory } from "./directory.js";
import type { BlobStore } from "./port.js";
import { openS3 } from "./s3.js";
import type { S3Access } from "./s3-request.js";

/**
 * Opens the blob store at a directory path, `file:` URL or `s3://bucket/prefix`; the last needs `s3`. A bucket that is
 * missing or rejects the credentials is `denied`, a server that does not respond `busy`.
 * @example const blobs = await openBlobStore({ url: "/var/lib/heddle/blobs" });
 */
export async function openBlobStore({ url, s3 }: { url: string; s3?: S3Access }): Promise<BlobStore> {
  if (url.startsWith("file:")) return await openDirectory(resolve(fileURLToPath(url)));
  if (url.startsWith("s3:")) {
    if (s3 === undefined) throw new HeddleError("invalid", `${url} needs a region and credentials`);
    return await openS3(url, s3);
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(url)) {
    throw new HeddleError("invalid", `no backend for ${url.slice(0, url.indexOf(":"))}: URLs; give a directory or s3:`);
  }
  return await openDirectory(resolve(url));
}
