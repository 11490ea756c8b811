import { createHash, randomUUID } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { access, mkdir, open, readdir, rename, rm, stat, unlink, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { keyLocks } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import { abandonedBefore } from "./abandoned-drafts.js";
import { checkDigest, sha256Of } from "./digest.js";
import { digestOf, keyOf } from "./keys.js";
import type { BlobInfo, BlobReadOptions, BlobReader, BlobSource, BlobStore } from "./port.js";
import { listDirectory } from "./directory-list.js";
import { resolveRange } from "./range.js";
import { verified } from "./verify.js";

/**
 * Opens a directory as a blob store and creates it when it is missing. Several processes may: the drafts of crashed writes in
 * `tmp/` are removed here and by `discardDrafts` once they are old, since younger ones may be in progress elsewhere.
 */
export async function openDirectory(root: string): Promise<BlobStore> {
  const temporary = join(root, "tmp");
  // A collector never deletes a blob that is put again after the collector has found it old.
  const locked = keyLocks();
  const firstMade = await mkdir(temporary, { recursive: true });
  // The store itself must survive as well: the entries of the folders made on the way to it.
  const oldest = firstMade?.length ?? Infinity;
  for (let folder = root; folder.length >= oldest; folder = dirname(folder)) await syncFolder(dirname(folder));

  // Folders whose entry in their parent this process has made durable.
  const syncedFolders = new Set<string>();

  const locate = (key: string): { sha256: string; path: string } => ({
    sha256: digestOf(key),
    path: join(root, ...key.split("/")),
  });

  /** Makes the entry of a file durable, its chain of folders up to the root included. */
  async function syncEntry(path: string): Promise<void> {
    let folder = dirname(path);
    await syncFolder(folder);
    while (folder !== root && !syncedFolders.has(folder)) {
      const parent = dirname(folder);
      await syncFolder(parent);
      syncedFolders.add(folder);
      folder = parent;
    }
  }

  /** A blob that is there already: its entry may not have reached the disk, and collectors must see it as fresh. */
  async function renew(path: string): Promise<number | undefined> {
    const size = await sizeOf(path);
    if (size === undefined) return undefined;
    const now = new Date();
    try {
      await utimes(path, now, now);
      await syncEntry(path);
    } catch (error) {
      if (isMissing(error)) return undefined; // Deleted in between.
      throw error;
    }
    return size;
  }

  async function put(source: BlobSource, options: { expectedSha256?: string } = {}): Promise<BlobInfo> {
    if (options.expectedSha256 !== undefined) keyOf(options.expectedSha256);
    if (source instanceof Uint8Array) {
      // Clients upload the same small file again and again: bytes in memory are hashed before anything is written.
      const sha256 = sha256Of(source);
      checkDigest(sha256, options.expectedSha256);
      const key = keyOf(sha256);
      const size = await locked(key, async () => await renew(locate(key).path));
      if (size === source.length) return { key, size, sha256 };
    }
    const draft = join(temporary, randomUUID());
    try {
      const { sha256, size } = await writeDraft(draft, source);
      checkDigest(sha256, options.expectedSha256);
      const key = keyOf(sha256);
      const { path } = locate(key);
      await locked(key, async () => {
        await mkdir(dirname(path), { recursive: true });
        await rename(draft, path);
        await syncEntry(path);
      });
      return { key, size, sha256 };
    } catch (error) {
      await rm(draft, { force: true });
      if (isMissing(error) && error.path === draft)
        throw new HeddleError("busy", "the draft of the blob was removed while it was written", { cause: error });
      throw isFull(error) ? new HeddleError("busy", "the disk of the blob store is full") : error;
    }
  }

  async function info(key: string): Promise<BlobInfo | undefined> {
    const { sha256, path } = locate(key);
    const size = await sizeOf(path);
    return size === undefined ? undefined : { key, size, sha256 };
  }

  async function get(key: string, options: BlobReadOptions = {}): Promise<BlobReader> {
    const found = await info(key);
    if (found === undefined) throw new HeddleError("not_found", `no blob ${key}`);
    const { start, end } = resolveRange(options.range, found.size);
    if (options.verify === true && options.range !== undefined) {
      throw new HeddleError("invalid", "only a read of the whole blob can be verified");
    }
    const bytes = readFrom(locate(key).path, start, end);
    return { ...found, start, end, stream: options.verify === true ? verified(bytes, found.sha256) : bytes };
  }

  async function remove(key: string, { putBefore }: { putBefore?: bigint } = {}): Promise<boolean> {
    const { path } = locate(key);
    return await locked(key, async () => {
      try {
        if (putBefore === undefined) await unlink(path);
        else if (!(await removeOld(path, putBefore * 1000n))) return false;
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        throw error;
      }
    });
  }

  /** Takes the blob away before it looks once more: another process may have put it again in between, and it then stays. */
  async function removeOld(path: string, putBeforeNs: bigint): Promise<boolean> {
    const isOld = async (file: string) => (await stat(file, { bigint: true })).mtimeNs < putBeforeNs;
    if (!(await isOld(path))) return false;
    const removed = join(temporary, randomUUID());
    await rename(path, removed);
    if (await isOld(removed)) {
      await unlink(removed);
      return true;
    }
    await rename(removed, path);
    await syncEntry(path);
    return false;
  }

  async function discardDrafts(begunBefore: bigint): Promise<void> {
    for (const name of await readdir(temporary)) {
      const draft = join(temporary, name);
      try {
        if ((await stat(draft, { bigint: true })).mtimeNs < begunBefore * 1000n) await rm(draft, { force: true });
      } catch (error) {
        if (!isMissing(error)) throw error; // Its write has ended in between.
      }
    }
  }

  await discardDrafts(abandonedBefore());
  return {
    put,
    get,
    stat: info,
    delete: remove,
    list: () => listDirectory(root),
    discardDrafts,
    async check() {
      await access(temporary, constants.R_OK | constants.W_OK).catch((error: unknown) => {
        throw new HeddleError("busy", "the directory of the blob store cannot be used", { cause: error });
      });
    },
    close: async () => {},
  };
}

/** Writes and fsyncs a draft. An error of the source ends the write. */
async function writeDraft(path: string, source: BlobSource): Promise<{ sha256: string; size: number }> {
  const hash = createHash("sha256");
  const file = await open(path, "wx");
  try {
    let size = 0;
    for await (const chunk of source instanceof Uint8Array ? [source] : source) {
      hash.update(chunk);
      await file.writeFile(chunk);
      size += chunk.length;
    }
    await file.sync();
    return { sha256: hash.digest("hex"), size };
  } finally {
    await file.close();
  }
}

/** The file is opened at the first pull, so a reader that is never read holds nothing open. */
async function* readFrom(path: string, start: number, end: number): AsyncGenerator<Uint8Array> {
  if (start === end) return;
  try {
    for await (const chunk of createReadStream(path, { start, end: end - 1, highWaterMark: 256 * 1024 })) {
      yield chunk as Uint8Array;
    }
  } catch (error) {
    throw isMissing(error) ? new HeddleError("not_found", "the blob was deleted while it was read") : error;
  }
}

async function syncFolder(path: string): Promise<void> {
  // Windows does not let a folder be opened; its entries are journalled.
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
