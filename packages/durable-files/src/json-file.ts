import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { HeddleError } from "@heddle/errors";
import { ifExists } from "./if-exists.js";
import { parseJsonObject } from "@heddle/exact-json";
import type { JsonObject } from "@heddle/exact-json";

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
