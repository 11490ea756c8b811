import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";
import { isMissing, systemReason } from "@heddle/durable-files";

/**
 * Reads a text file of a model directory. Returns undefined for a missing file. Errors name the file and the reason.
 */
export async function readModelText(directory: string, name: string, maxBytes: number): Promise<string | undefined> {
  const path = join(directory, name);
  const found = await stat(path).catch((error: unknown) => {
    if (isMissing(error)) return;
    throw new HeddleError("invalid", `${name} cannot be read: ${systemReason(error)}`, {
      details: { file: name },
      cause: error,
    });
  });
  if (!found) return undefined;
  // Reading a pipe or a device might never end.
  if (!found.isFile()) throw new HeddleError("invalid", `${name}: not a regular file`, { details: { file: name } });
  if (found.size > maxBytes) {
    throw new HeddleError("too_large", `${name}: ${found.size} bytes; at most ${maxBytes} are read`, {
      details: { file: name },
    });
  }
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new HeddleError("invalid", `${name} cannot be read: ${systemReason(error)}`, {
      details: { file: name },
      cause: error,
    });
  });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new HeddleError("invalid", `${name}: not valid UTF-8`, { details: { file: name } });
  }
}

/** Reads a JSON object from a file of a model directory. Returns undefined for a missing file. */
export async function readModelJson(
  directory: string,
  name: string,
  maxBytes: number,
): Promise<Record<string, unknown> | undefined> {
  const text = await readModelText(directory, name, maxBytes);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new HeddleError(
      "invalid",
      `${name}: not valid JSON: ${error instanceof Error ? error.message : String(error)}`,
      { details: { file: name } },
    );
  }
  if (!isJsonObject(value)) throw new HeddleError("invalid", `${name}: not a JSON object`, { details: { file: name } });
  return value;
}
