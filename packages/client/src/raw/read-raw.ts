import type { RawPlan } from "./plan.js";
import { RawJson } from "./raw-json.js";

/**
 * Reads JSON along a plan: what is free is cut out as text, everything else is parsed. Throws a `SyntaxError`; inside free
 * JSON only where brackets or quotes do not match.
 */
export function readRaw(text: string, plan: RawPlan, plans: readonly RawPlan[]): unknown {
  const reader = new Reader(text, plans);
  const value = reader.value(plan);
  reader.end();
  return value;
}

class Reader {
  #at = 0;
  readonly #text: string;
  readonly #plans: readonly RawPlan[];

  constructor(text: string, plans: readonly RawPlan[]) {
    this.#text = text;
    this.#plans = plans;
  }

  value(plan: RawPlan | undefined): unknown {
    const first = this.#next();
    if (plan?.raw === true) return new RawJson(this.#cut());
    if (first === "{" && plan !== undefined) return this.#object(plan);
    if (first === "[" && plan?.items !== undefined) return this.#list(this.#plans[plan.items]);
    return JSON.parse(this.#cut());
  }

  end(): void {
    if (this.#next() !== "") throw malformed(this.#at);
  }

  #object({ properties = {}, others = -1 }: RawPlan): object {
    const result: Record<string, unknown> = {};
    this.#at += 1;
    if (this.#closes("}")) return result;
    do {
      if (this.#next() !== '"') throw malformed(this.#at);
      const key = JSON.parse(this.#cut()) as string;
      if (this.#next() !== ":") throw malformed(this.#at);
      this.#at += 1;
      const plan = Object.hasOwn(properties, key) ? properties[key] : others;
      const value = this.value(this.#plans[plan ?? -1]);
      if (key === "__proto__") Object.defineProperty(result, key, { ...assigned, value });
      else result[key] = value;
    } while (this.#continues("}"));
    return result;
  }

  #list(plan: RawPlan | undefined): unknown[] {
    const result: unknown[] = [];
    this.#at += 1;
    if (this.#closes("]")) return result;
    do result.push(this.value(plan));
    while (this.#continues("]"));
    return result;
  }

  #closes(bracket: string): boolean {
    if (this.#next() !== bracket) return false;
    this.#at += 1;
    return true;
  }

  /** True after a comma, false after the bracket. */
  #continues(bracket: string): boolean {
    if (this.#closes(bracket)) return false;
    if (this.#closes(",")) return true;
    throw malformed(this.#at);
  }

  /** The next character that is not space; empty at the end. */
  #next(): string {
    while (" \n\r\t".includes(this.#text[this.#at] ?? "x")) this.#at += 1;
    return this.#text[this.#at] ?? "";
  }

  /** The text of the value that begins here. */
  #cut(): string {
    const start = this.#at;
    this.#at = endOfValue(this.#text, start);
    return this.#text.slice(start, this.#at);
  }
}

const assigned = { configurable: true, enumerable: true, writable: true };

/** Index after the value at `start`. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === quote) {
      at = endOfString(text, at);
      if (depth === 0) return at + 1;
    } else if (character === openBrace || character === openBracket) depth += 1;
    else if (character === closeBrace || character === closeBracket) {
      if (depth > 0) depth -= 1;
      // A scalar ends before what closes its list.
      else if (at > start) return at;
      else break;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (character === comma || character <= space)) {
      if (at > start) return at;
      break;
    }
  }
  if (depth > 0 || start === text.length || text.charCodeAt(start) === comma) throw malformed(start);
  return text.length;
}

/** Index of the quote that closes the string which opens at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at > 0; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) === backslash) before -= 1;
    if ((at - before) % 2 === 1) return at;
  }
  throw malformed(start);
}

const malformed = (at: number): SyntaxError => new SyntaxError(`not JSON at position ${at}`);

const [space, quote, comma, backslash] = [32, 34, 44, 92];
const [openBracket, closeBracket, openBrace, closeBrace] = [91, 93, 123, 125];
