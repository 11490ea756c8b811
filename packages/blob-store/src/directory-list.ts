import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BlobEntry } from "./port.js";
import { keyOf } from "./keys.js";

/** Walks the blobs of a directory in the order of their keys, one folder at a time. Foreign files are passed over. */
export async function* listDirectory(root: string): AsyncGenerator<BlobEntry> {
  const top = join(root, "sha256");
  for (const first of await names(top)) {
    for (const second of await names(join(top, first))) {
      const folder = join(top, first, second);
      for (const sha256 of await names(folder)) {
        if (!/^[0-9a-f]{64}$/.test(sha256) || !sha256.startsWith(first + second)) continue;
        const found = await stat(join(folder, sha256), { bigint: true }).catch(missing);
        if (found === undefined) continue; // Deleted since the folder was read.
        yield { key: keyOf(sha256), size: Number(found.size), sha256, modifiedAt: found.mtimeNs / 1000n };
      }
    }
  }
}

async function names(folder: string): Promise<string[]> {
  const found = (await readdir(folder).catch(missing)) ?? [];
  return found.toSorted();
}

function missing(error: unknown): undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  throw error;
}
