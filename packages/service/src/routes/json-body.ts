import { decodeText, Problem, readBody } from "@heddle/server-stub";
import type { HttpRequest } from "@heddle/server-stub";
import { countValues } from "./json-values.js";

export interface JsonBodyLimits {
  /** As sent, and as inflated. */
  maxBytes: number;
  /** Values of all kinds, and names of members: what each takes in memory does not depend on its text. */
  maxValues: number;
}

/** Reads a body as JSON, whatever its media type. Throws 400, 413 and 415. */
export async function readJsonBody(request: HttpRequest, limits: JsonBodyLimits): Promise<unknown> {
  return parseJson(decodeText(await readBody(request, limits.maxBytes)), limits.maxValues, "the body");
}

/** Parses JSON of bounded size. Throws 400, and 413 before anything is parsed. */
export function parseJson(text: string, maxValues: number, what: string): unknown {
  if (countValues(text, maxValues) > maxValues) {
    throw new Problem(413, `Request too large: ${what} has at most ${maxValues} values`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(400, `${what} must be JSON`);
  }
}
