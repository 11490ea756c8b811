import { decodeText, textDecoder } from "./body.js";
import type { HttpRequest } from "../http.js";
import type { Plan } from "../json/plan.js";
import { JsonReader, readJson } from "../json/read.js";
import type { JsonBody, ReadOptions } from "../json/read.js";
import { hasNoControlCharacters } from "../json/scan.js";
import { Malformed } from "../json/tokens.js";
import { Problem } from "../problem.js";
import { SchemaViolation } from "../validation/schema-violation.js";

/**
 * Bytes that are decoded, and UTF-16 units that are read, in a few milliseconds at most: units can be wrong items. Bytes
 * that are decoded in one go need no copy to be joined.
 */
const fewBytes = 524_288;
const fewUnits = 8192;
const shortBody = 65_536;
/** After so long, the request gives way to others. */
const sliceMs = 4;
/** What a value takes in memory. */
const valueBytes = 40;

/**
 * Reads the bytes of a body as JSON; a long one in slices where the adapter takes turns. Throws the Problem that says why
 * it is none, and `Overloaded` when there is no memory for its values.
 */
export async function parseJson(request: HttpRequest, bytes: Uint8Array, plan: Plan | undefined): Promise<JsonBody> {
  if (request.giveWay === undefined || bytes.length <= shortBody) {
    const { text, noControls } = decode(bytes);
    const body = parseText(text, plan, { noControls });
    countValues(request, bytes, body, 0);
    return body;
  }
  const { text, noControls } = bytes.length <= fewBytes ? decode(bytes) : await decodeInSlices(request, bytes);
  const reader = new JsonReader(text, plan, { noControls });
  let counted = 0;
  await inSlices(request, () => {
    const isComplete = explained(text, () => reader.read(fewUnits));
    counted = countValues(request, bytes, reader, counted);
    return isComplete;
  });
  return reader;
}

/** Reads text as JSON. Throws the Problem that says why it is none. */
export function parseText(text: string, plan: Plan | undefined, options: ReadOptions): JsonBody {
  return explained(text, () => readJson(text, plan, options));
}

/** Counts what the values take beyond the bytes, and what of it was `counted` before; returns all of it. */
function countValues(request: HttpRequest, bytes: Uint8Array, { values }: JsonBody, counted: number): number {
  const all = values * valueBytes - bytes.length;
  if (all <= counted) return counted;
  request.parsed?.(all - counted);
  return all;
}

interface Decoded {
  text: string;
  noControls: boolean;
}

function decode(bytes: Uint8Array): Decoded {
  return { text: decodeText(bytes), noControls: hasNoControlCharacters(bytes) };
}

async function decodeInSlices(request: HttpRequest, bytes: Uint8Array): Promise<Decoded> {
  const decoder = textDecoder();
  const parts: string[] = [];
  let noControls = true;
  let at = 0;
  await inSlices(request, () => {
    const part = bytes.subarray(at, at + fewBytes);
    at += part.length;
    noControls &&= hasNoControlCharacters(part);
    parts.push(decodeText(part, decoder, at < bytes.length));
    return at === bytes.length;
  });
  return { text: parts.join(""), noControls };
}

/** Works until it is complete, and gives way to other requests in between. */
async function inSlices(request: HttpRequest, work: () => boolean): Promise<void> {
  for (let began = performance.now(); !work();) {
    if (performance.now() - began < sliceMs) continue;
    await request.giveWay?.();
    began = performance.now();
  }
}

function explained<T>(text: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Malformed) throw malformed(error, text);
    if (error instanceof SchemaViolation) throw tooLarge(error);
    throw error;
  }
}

/** Nobody counts lines of longer texts. */
const mostCounted = 1_000_000;

function malformed({ message, position }: Malformed, text: string): Problem {
  if (text.trim() === "") return missing();
  const problem = `the body is not JSON: ${message} at position ${position}`;
  if (position > mostCounted) return new Problem(400, problem);
  const before = text.slice(0, position);
  const line = before.split("\n").length;
  const column = position - before.lastIndexOf("\n");
  return new Problem(400, `${problem} (line ${line}, column ${column})`);
}

function tooLarge({ detail }: SchemaViolation): Problem {
  return new Problem(413, `Request too large: ${detail.loc.join(".")}: ${detail.msg}`);
}

/** The body is required and has nothing. */
export function missing(): Problem {
  return Problem.invalid([{ loc: ["body"], msg: "Field required", type: "missing" }]);
}
