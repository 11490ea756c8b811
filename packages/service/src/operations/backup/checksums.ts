import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { ifExists } from "@heddle/durable-files";
import { ConfigError } from "../../config/config-error.js";

/** In the form that `sha256sum -c` reads, too. */
const name = "SHA256SUMS";
const unlisted = new Set([name, "manifest.json"]);

/** Writes the SHA-256 of every file of a backup. */
export async function writeChecksums(directory: string): Promise<void> {
  let text = "";
  for (const path of await files(directory)) text += `${await hashOf(join(directory, path))}  ${path}\n`;
  await writeFile(join(directory, name), text, { mode: 0o600 });
}

/**
 * Returns the number of files. Throws a {@link ConfigError} that names the first file that has changed since it was
 * written.
 */
export async function verifyChecksums(directory: string): Promise<number> {
  const corrupt = (what: string) => new ConfigError(`the backup ${directory} is corrupt: ${what}.`);
  const text = await ifExists(readFile(join(directory, name), "utf8"));
  if (text === undefined) throw corrupt(`${name} is missing`);
  const listed = new Map(text.split("\n").map((line) => [line.slice(66), line.slice(0, 64)]));
  listed.delete("");
  const found = await files(directory);
  for (const path of found) {
    if ((await hashOf(join(directory, path))) !== listed.get(path)) throw corrupt(`${path} is not as it was written`);
    listed.delete(path);
  }
  for (const path of listed.keys()) throw corrupt(`${path} is missing`);
  return found.length;
}

async function files(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).replaceAll(sep, "/"))
    .filter((path) => !unlisted.has(path))
    .toSorted();
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
