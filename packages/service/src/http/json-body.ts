import { HeddleError } from "@heddle/errors";
import { decodeText, readBody } from "@heddle/server-stub";
import type { HttpRequest } from "@heddle/server-stub";
import { currentScope } from "../limits/request-scope.js";
import { countValues } from "./json-values.js";

export interface JsonBodyLimits {
  /** As sent, and as inflated. */
  maxBytes: number;
  /** Values of all kinds, and names of members: what each takes in memory does not depend on its text. */
  maxValues: number;
}

/** Bytes that a parsed value takes next to its text. */
const valueBytes = 64;

/**
 * Reads a body as JSON, whatever its media type; `turn` is waited for before it is parsed. Throws as {@link parseJson}
 * does, and 400, 413 and 415.
 */
export async function readJsonBody(
  request: HttpRequest,
  { maxBytes, maxValues }: JsonBodyLimits,
  turn: () => Promise<unknown>,
): Promise<unknown> {
  const bytes = await readBody(request, maxBytes);
  await turn();
  const text = decodeText(bytes);
  const values = countValues(text, maxValues);
  await currentScope()?.hold(text.length + values * valueBytes);
  return parseCounted(text, values, maxValues, "the body");
}

/** Parses JSON of bounded size. Throws `invalid`, and `too_large` before anything is parsed. */
export function parseJson(text: string, maxValues: number, what: string): unknown {
  return parseCounted(text, countValues(text, maxValues), maxValues, what);
}

function parseCounted(text: string, values: number, maxValues: number, what: string): unknown {
  if (values > maxValues) throw new HeddleError("too_large", `${what} has at most ${maxValues} values`);
  try {
    return JSON.parse(text);
  } catch {
    throw new HeddleError("invalid", `${what} is not JSON`);
  }
}
