import { objectText } from "./argument-text.js";
import type { WrittenCall } from "./tool-call.js";

class SyntaxMismatch extends Error {}

const maxDepth = 64;
const words = new Map([
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
]);

/** Reads a Python list of calls with named arguments: `[f(a=1, b="x"), g()]`. The values become JSON. */
export function pythonCalls(text: string): WrittenCall[] | undefined {
  try {
    return new Reader(text).calls();
  } catch (error) {
    if (error instanceof SyntaxMismatch) return undefined;
    throw error;
  }
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  calls(): WrittenCall[] {
    this.#expect("[");
    const calls = this.#separated("]", () => this.#call());
    this.#skipSpace();
    if (calls.length === 0 || this.#at < this.#text.length) throw new SyntaxMismatch();
    return calls;
  }

  #call(): WrittenCall {
    const name = this.#match(/[\p{L}_][\p{L}\p{N}_.-]*/uy);
    this.#expect("(");
    const members = this.#separated(")", (): [string, string] => {
      const key = this.#match(/[\p{L}_][\p{L}\p{N}_]*/uy);
      this.#expect("=");
      return [key, this.#value(0)];
    });
    return { name, arguments: objectText(members) };
  }

  #value(depth: number): string {
    if (depth > maxDepth) throw new SyntaxMismatch();
    this.#skipSpace();
    const character = this.#text.charAt(this.#at);
    if (character === "'" || character === '"') return JSON.stringify(this.#string());
    if (character === "[" || character === "(") {
      this.#at++;
      return `[${this.#separated(character === "[" ? "]" : ")", () => this.#value(depth + 1)).join(", ")}]`;
    }
    if (character === "{") {
      this.#at++;
      return objectText(this.#separated("}", () => this.#member(depth)));
    }
    const token = this.#match(/-?\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?|[A-Za-z]+/y);
    return words.get(token) ?? numberText(token);
  }

  #member(depth: number): [string, string] {
    this.#skipSpace();
    const key = this.#string();
    this.#expect(":");
    return [key, this.#value(depth + 1)];
  }

  #string(): string {
    const quoted = this.#match(/'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"/y).slice(1, -1);
    return quoted.replaceAll(
      /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([^]))/g,
      (whole, x?: string, u?: string, other = "") => {
        const code = x ?? u;
        if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
        return "\\'\"/".includes(other) ? other : (escapes[other] ?? whole);
      },
    );
  }

  #separated<Item>(closing: string, read: () => Item): Item[] {
    const items: Item[] = [];
    while (!this.#skip(closing)) {
      if (items.length > 0) {
        this.#expect(",");
        if (this.#skip(closing)) break;
      }
      items.push(read());
    }
    return items;
  }

  #match(pattern: RegExp): string {
    this.#skipSpace();
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) throw new SyntaxMismatch();
    this.#at += found.length;
    return found;
  }

  #skip(character: string): boolean {
    this.#skipSpace();
    const found = this.#text.startsWith(character, this.#at);
    if (found) this.#at += character.length;
    return found;
  }

  #expect(character: string): void {
    if (!this.#skip(character)) throw new SyntaxMismatch();
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at++;
  }
}

const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", "\n": "" };

function numberText(token: string): string {
  const text = token.replaceAll("_", "").replace(/\.(?=$|[eE])/, ".0");
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text)) throw new SyntaxMismatch();
  return text;
}
