import { hasLargeNumbers } from "./large-numbers.js";
import { decodeString } from "./members.js";
import { exceedsNesting } from "./nesting.js";
import { withoutRepeatedKeys } from "./repeated-keys.js";
import { stringEnd, valueEnd } from "./scan.js";
import type { JsonText } from "./scan.js";

/**
 * The store's JSON functions read nothing of a document with one token that they cannot read, and take the first of
 * repeated keys, of which readers see the last: the query-safe text has only that. What else becomes of a token in it:
 *   lone surrogate escape            U+FFFD
 *   integer outside Int64 and UInt64 the nearest double, written with an exponent
 *   number beyond double             the largest double of that sign
 *   bare NaN and infinities          null (in the exact text too: they are not JSON, and are returned as null)
 *   a list or object 500 deep        null
 */
export function storable(text: JsonText): { text: JsonText; exact?: JsonText } {
  const { safe, exact } = readableTokens(text);
  const result = withoutRepeatedKeys(safe);
  return result === exact ? { text: result } : { text: result, exact };
}

/** The text to return: the exact text where one was kept ("" counts as none). */
export function readable(text: JsonText, exact?: JsonText): JsonText {
  return exact || text;
}

function readableTokens(text: JsonText): { safe: JsonText; exact: JsonText } {
  if (!exceedsNesting(text, maxNesting) && !holdsSuspects(text) && !hasLargeNumbers(text)) {
    return { safe: text, exact: text };
  }
  const safe = new Edit(text);
  const exact = new Edit(text);
  rewrite(text, safe, exact);
  return { safe: safe.result(), exact: exact.result() };
}

const maxNesting = 500;
const largest = String(Number.MAX_VALUE);

/** Surrogate escapes and bare numbers; also found inside harmless strings. */
function holdsSuspects(text: string): boolean {
  if (text.includes("NaN") || text.includes("Infinity")) return true;
  return text.includes("\\u") && /\\u[dD][89a-fA-F]/.test(text);
}

class Edit {
  readonly #text: string;
  #done = "";
  #copied = 0;

  constructor(text: string) {
    this.#text = text;
  }

  replace(from: number, to: number, replacement: string): void {
    this.#done += this.#text.slice(this.#copied, from) + replacement;
    this.#copied = to;
  }

  result(): string {
    return this.#copied === 0 ? this.#text : this.#done + this.#text.slice(this.#copied);
  }
}

function rewrite(text: string, safe: Edit, exact: Edit): void {
  let depth = 0;
  let deepFrom = 0;
  for (let index = 0; index < text.length;) {
    const code = text.charCodeAt(index);
    if (code === 34) {
      const end = stringEnd(text, index);
      const replacement = depth <= maxNesting ? wellFormedLiteral(text, index, end) : undefined;
      if (replacement !== undefined) safe.replace(index, end, replacement);
      index = end;
    } else if (code === 123 || code === 91) {
      if (++depth === maxNesting + 1) deepFrom = index;
      index++;
    } else if (code === 125 || code === 93) {
      index++;
      if (depth-- === maxNesting + 1) safe.replace(deepFrom, index, "null");
    } else if (code === 45 || code === 73 || code === 78 || (code >= 48 && code <= 57)) {
      const end = valueEnd(text, index);
      const token = text.slice(index, end);
      const bare = token.endsWith("N") || token.endsWith("y");
      const replacement = bare ? "null" : safeNumber(token);
      if (bare) exact.replace(index, end, "null");
      if (replacement !== undefined && depth <= maxNesting) safe.replace(index, end, replacement);
      index = end;
    } else index++;
  }
}

function wellFormedLiteral(text: string, from: number, to: number): string | undefined {
  if (!text.slice(from, to).includes("\\u")) return undefined;
  const value = decodeString(text, from, to);
  const replaced = value.replace(/\p{Surrogate}/gu, "\ufffd");
  return replaced === value ? undefined : JSON.stringify(replaced);
}

function safeNumber(token: string): string | undefined {
  const whole = !/[.eE]/.test(token);
  if (whole && token.length < 19) return undefined;
  if (whole && token.length <= 20) {
    const value = BigInt(token);
    if (value >= -(2n ** 63n) && value < 2n ** 64n) return undefined;
  }
  const value = Number(token);
  if (Number.isFinite(value)) return whole ? value.toExponential() : undefined;
  return value < 0 ? `-${largest}` : largest;
}
