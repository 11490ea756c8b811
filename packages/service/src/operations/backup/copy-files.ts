import { constants } from "node:fs";
import { copyFile, cp, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifExists } from "@heddle/durable-files";

/**
 * Copies a directory of files that never change once they have their name; what is deleted meanwhile is left out.
 * Returns the number of files. Copy-on-write file systems share the bytes.
 */
export async function copyFiles(from: string, to: string): Promise<number> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  let copied = 0;
  for (const entry of (await ifExists(readdir(from, { withFileTypes: true }))) ?? []) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copied += await copyFiles(source, target);
    else if (entry.isFile()) {
      copied += (await ifExists(copyFile(source, target, constants.COPYFILE_FICLONE).then(one))) ?? 0;
    }
  }
  return copied;
}

/** Moves a directory, by copying it where the file systems differ. */
export async function moveDirectory(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    await cp(from, to, { recursive: true });
    await rm(from, { recursive: true });
  }
}

/** Flushes every file and folder below `path` to disk. */
export async function syncTree(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await syncTree(join(path, entry.name));
    else if (entry.isFile()) await sync(join(path, entry.name));
  }
  await sync(path);
}

async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

const one = (): number => 1;

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);
