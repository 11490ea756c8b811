import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { EngineError } from "../engine-error.js";

/** The text of a file of a model directory; undefined when there is none. Errors name the file and the reason. */
export async function readModelText(directory: string, name: string, maxBytes: number): Promise<string | undefined> {
  const path = join(directory, name);
  const found = await stat(path).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return;
    throw new EngineError("invalid", `${path}: ${reason(error)}`);
  });
  if (!found) return undefined;
  // Not a pipe or a device: reading one may never end.
  if (!found.isFile()) throw new EngineError("invalid", `${path}: not a regular file`);
  if (found.size > maxBytes) {
    throw new EngineError("too_large", `${path}: ${found.size} bytes; at most ${maxBytes} are read`);
  }
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new EngineError("invalid", `${path}: ${reason(error)}`);
  });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new EngineError("invalid", `${path}: not valid UTF-8`);
  }
}

/** A JSON object of a model directory; undefined when there is no such file. */
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
    throw new EngineError("invalid", `${join(directory, name)}: not valid JSON: ${reason(error)}`);
  }
  if (!isObject(value)) throw new EngineError("invalid", `${join(directory, name)}: not a JSON object`);
  return value;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
