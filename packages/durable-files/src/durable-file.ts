import { createHash } from "node:crypto";
import { mkdir, open, rename } from "node:fs/promises";
import { dirname } from "node:path";

export interface WrittenFile {
  bytes: number;
  /** SHA-256 of the file, in hexadecimal. */
  sha256: string;
}

/** Writes a new file and syncs it to disk. */
export async function writeDurableFile(path: string, content: string | Uint8Array): Promise<WrittenFile> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const handle = await open(path, "wx");
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/**
 * Replaces a file, or makes it, for its owner alone. After a crash or a power loss the file is the old or the new one, and the
 * new one once this has resolved.
 */
export async function replaceDurableFile(path: string, content: string): Promise<void> {
  const draft = `${path}.tmp`;
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, path);
  await syncDirectory(dirname(path));
}

/** Syncs a file that is written to disk. */
export async function syncFile(path: string): Promise<void> {
  // Windows syncs only what is open for writing.
  const handle = await open(path, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Syncs the entries of a directory to disk. Has no effect on Windows, where directories cannot be opened. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a directory and its missing parents, and syncs their entries to disk. */
export async function makeDurableDirectory(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  for (let created = path; created.length >= first.length; created = dirname(created))
    await syncDirectory(dirname(created));
}

/** Returns the size and SHA-256 of a file, which is read in chunks. */
export async function digestFile(path: string): Promise<WrittenFile> {
  const hash = createHash("sha256");
  let bytes = 0;
  const handle = await open(path, "r");
  try {
    const buffer = new Uint8Array(2 ** 20);
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, bytes);
      if (bytesRead === 0) return { bytes, sha256: hash.digest("hex") };
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await handle.close();
  }
}
