import { HeddleError } from "@heddle/errors";
import { firstRepeatedKey } from "./repeated-keys.js";

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
  const duplicate = firstRepeatedKey(text);
  if (duplicate !== undefined) {
    throw new HeddleError("invalid", `${file} has ${JSON.stringify(duplicate)} twice`, {
      details: { file, field: duplicate },
    });
  }
  return value;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : String(error);
}
