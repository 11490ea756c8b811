import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { HeddleError } from "@heddle/errors";
import { ifExists } from "./if-exists.js";

export type JsonObject = Record<string, unknown>;

/**
 * Parses a file with one JSON object. Refuses a key that appears twice in an object, because parsers differ in which of
 * the two values they use.
 *
 * @throws HeddleError `invalid` naming the file.
 */
export function parseJsonObject(bytes: Uint8Array, file: string): JsonObject {
  let value: unknown;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch (error) {
    throw new HeddleError("invalid", `${file} is not JSON: ${reason(error)}`, { details: { file } });
  }
  if (!isJsonObject(value)) throw new HeddleError("invalid", `${file} is not a JSON object`, { details: { file } });
  const duplicate = duplicateKey(text);
  if (duplicate !== undefined) {
    throw new HeddleError("invalid", `${file} has ${JSON.stringify(duplicate)} twice`, {
      details: { file, field: duplicate },
    });
  }
  return value;
}

/**
 * Reads a file of a directory with one JSON object.
 *
 * @throws HeddleError `not_found`, or `invalid` when it is not a JSON object or longer than `maxBytes` bytes.
 */
export async function readJsonFile(directory: string, name: string, maxBytes = 2 ** 20): Promise<JsonObject> {
  const path = join(directory, name);
  const found = await ifExists(stat(path));
  if (!found) throw new HeddleError("not_found", `there is no ${name}`, { details: { file: name } });
  if (!found.isFile() || found.size > maxBytes) {
    throw new HeddleError("invalid", `${name} is not a file of at most ${maxBytes} bytes`, { details: { file: name } });
  }
  return parseJsonObject(await readFile(path), name);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : String(error);
}

/** Returns the first key that appears twice in one object of `json`, which must be valid JSON. */
function duplicateKey(json: string): string | undefined {
  const seen: (Set<string> | undefined)[] = [];
  for (let at = 0; at < json.length; at++) {
    const character = json[at];
    if (character === "{") seen.push(new Set());
    else if (character === "[") seen.push(undefined);
    else if (character === "}" || character === "]") seen.pop();
    else if (character === '"') {
      const start = at;
      for (at++; json[at] !== '"'; at++) if (json[at] === "\\") at++;
      const keys = seen.at(-1);
      if (!keys || !isKey(json, at + 1)) continue;
      const key = String(JSON.parse(json.slice(start, at + 1)));
      if (keys.has(key)) return key;
      keys.add(key);
    }
  }
  return undefined;
}

function isKey(json: string, after: number): boolean {
  while (" \t\n\r".includes(json[after] ?? ".")) after++;
  return json[after] === ":";
}
