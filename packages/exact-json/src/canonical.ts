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
    this.#at = spaceEnd(text, this.#at + 1);
    if (text[this.#at] === "}") {
      this.#at++;
      return "{}";
    }
    const members = new SortedMembers();
    while (text[this.#at] !== "}") {
      if (text[this.#at] !== '"') throw notJson(this.#at);
      const keyFrom = this.#at;
      const keyTo = stringEnd(text, keyFrom);
      this.#at = spaceEnd(text, keyTo);
      if (text[this.#at] !== ":") throw notJson(this.#at);
      this.#at = spaceEnd(text, this.#at + 1);
      const member = `${canonicalString(text, keyFrom, keyTo)}: ${this.#value(depth + 1)}`;
      members.set(decodeString(text, keyFrom, keyTo), member);
      this.#separator("}");
    }
    this.#at++;
    return `{${members.sorted().join(", ")}}`;
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

/** Members as text by their keys. Those that come in the order of their keys, as most do, take neither a map nor sorting. */
class SortedMembers {
  readonly #keys: string[] = [];
  readonly #members: string[] = [];
  #all: Map<string, string> | undefined;

  set(key: string, member: string): void {
    const last = this.#keys.at(-1);
    if (this.#all === undefined && (last === undefined || compareCodePoints(last, key) < 0)) {
      this.#keys.push(key);
      this.#members.push(member);
    } else {
      this.#all ??= new Map(this.#keys.map((name, at) => [name, this.#members[at] ?? ""]));
      this.#all.set(key, member);
    }
  }

  sorted(): readonly string[] {
    if (this.#all === undefined) return this.#members;
    return [...this.#all].toSorted(([a], [b]) => compareCodePoints(a, b)).map(([, member]) => member);
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
