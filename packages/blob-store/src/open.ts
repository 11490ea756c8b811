import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { openDirectory } from "./directory.js";
import { BlobError } from "./errors.js";
import type { BlobStore } from "./port.js";

/**
 * Opens the blob store at a directory path or `file:` URL.
 * @example const blobs = await openBlobStore({ url: "/var/lib/heddle/blobs" });
 */
export async function openBlobStore({ url }: { url: string }): Promise<BlobStore> {
  if (url.startsWith("file:")) return await openDirectory(resolve(fileURLToPath(url)));
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(url)) {
    throw new BlobError("invalid", `no back end for ${url.slice(0, url.indexOf(":"))}: URLs; give a directory`);
  }
  return await openDirectory(resolve(url));
}
