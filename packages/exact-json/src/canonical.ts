import { compareCodePoints } from "./code-points.js";
import { decodeString } from "./members.js";
import { pythonNumber } from "./python-number.js";
import { notJson, spaceEnd, stringEnd, valueEnd } from "./scan.js";
import type { JsonText } from "./scan.js";

/** Deeper texts are refused long before they get here; the bound keeps a hostile text from exhausting the stack. */
const maxNesting = 1000;

/**
 * The text whose hash identifies a value: what Python's `json.dumps(json.loads(text), sort_keys=True)` prints.
 * Keys are sorted by code point, of repeated keys the last counts, everything outside printable ASCII is escaped.
 */
export function canonicalJson(text: JsonText): string {
  const writer = new CanonicalWriter(text);
  return writer.document();
}

class CanonicalWriter {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): string {
    this.#at = spaceEnd(this.#text, 0);
    const result = this.#value(0);
    if (spaceEnd(this.#text, this.#at) < this.#text.length) throw notJson(this.#at);
    return result;
  }

  #value(depth: number): string {
    const text = this.#text;
    const from = this.#at;
    if (depth > maxNesting) throw notJson(from);
    switch (text[from]) {
      case "{":
        return this.#object(depth);
      case "[":
        return this.#array(depth);
      case '"':
        this.#at = stringEnd(text, from);
        return canonicalString(text, from, this.#at);
      default: {
        this.#at = valueEnd(text, from);
        const token = text.slice(from, this.#at);
        return token === "true" || token === "false" || token === "null" ? token : pythonNumber(token);
      }
    }
  }

  #object(depth: number): string {
    const text = this.#text;
    const members = new Map<string, string>();
    this.#at = spaceEnd(text, this.#at + 1);
    while (text[this.#at] !== "}") {
      if (text[this.#at] !== '"') throw notJson(this.#at);
      const keyFrom = this.#at;
      const keyTo = stringEnd(text, keyFrom);
      this.#at = spaceEnd(text, keyTo);
      if (text[this.#at] !== ":") throw notJson(this.#at);
      this.#at = spaceEnd(text, this.#at + 1);
      members.set(decodeString(text, keyFrom, keyTo), this.#value(depth + 1));
      this.#separator("}");
    }
    this.#at++;
    const sorted = [...members].toSorted(([a], [b]) => compareCodePoints(a, b));
    return `{${sorted.map(([key, value]) => `${asciiString(key)}: ${value}`).join(", ")}}`;
  }

  #array(depth: number): string {
    const items: string[] = [];
    this.#at = spaceEnd(this.#text, this.#at + 1);
    while (this.#text[this.#at] !== "]") {
      items.push(this.#value(depth + 1));
      this.#separator("]");
    }
    this.#at++;
    return `[${items.join(", ")}]`;
  }

  #separator(close: string): void {
    this.#at = spaceEnd(this.#text, this.#at);
    if (this.#text[this.#at] === close) return;
    if (this.#text[this.#at] !== ",") throw notJson(this.#at);
    this.#at = spaceEnd(this.#text, this.#at + 1);
  }
}

function canonicalString(text: string, from: number, to: number): string {
  const literal = text.slice(from, to);
  return /^[ -[\]-~]*$/.test(literal) ? literal : asciiString(decodeString(text, from, to));
}

function asciiString(value: string): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
