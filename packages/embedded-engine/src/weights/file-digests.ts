import { stat } from "node:fs/promises";
import { digestFile } from "@heddle/durable-files";

interface Known {
  stamp: string;
  sha256: Promise<string>;
}

/** Digests of files that this process has read, by path. Base models are few, so none is forgotten. */
const known = new Map<string, Known>();

/**
 * Returns the SHA-256 of a file, in hexadecimal. The file is read again only when its size, its times or its inode have
 * changed. Rejects with the error of the file system when there is no such file.
 */
export async function fileDigest(path: string): Promise<string> {
  const stamp = await fileStamp(path);
  const found = known.get(path);
  if (found?.stamp === stamp) return found.sha256;
  const sha256 = digestFile(path).then((written) => written.sha256);
  known.set(path, { stamp, sha256 });
  // A failed read must not be remembered.
  sha256.catch(() => known.delete(path));
  return sha256;
}

/** Returns a text that changes when a file is written or replaced. Rejects when there is no such file. */
export async function fileStamp(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}
