import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

/** Models and adapters with what `transformers` computes of them; see `fixtures/make-logits.py`. */
export const fixtures = fileURLToPath(new URL("../fixtures/", import.meta.url));

/** Returns a function that creates empty directories, which are removed after the tests of the file. */
export function scratchDirectories(): () => Promise<string> {
  const directories: string[] = [];
  afterAll(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true, force: true }))));
  return async () => {
    const directory = await mkdtemp(join(tmpdir(), "heddle-weights-"));
    directories.push(directory);
    return directory;
  };
}

/** A safetensors file with any header, valid or not. */
export function rawSafetensors(header: unknown, data: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  bytes.set(data, 8 + text.length);
  return bytes;
}

/** Changes fields of a JSON file; `undefined` removes one. */
export async function editJson(path: string, changes: Record<string, unknown>): Promise<void> {
  const json: Record<string, unknown> = JSON.parse(await readFile(path, "utf8"));
  await writeFile(path, JSON.stringify(Object.assign(json, changes)));
}

/** Returns whether two arrays are bitwise equal. Much faster than comparing thousands of values. */
export function sameBits(one: Float32Array, other: Float32Array): boolean {
  return bytesOf(one).equals(bytesOf(other));
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
