import { Scanner } from "./scan.js";
import { endOfScalar, Malformed, skipSpace } from "./tokens.js";
import type { Plan } from "./plan.js";
import { ItemError } from "../problem.js";
import type { Detail } from "../problem.js";
import { RawJson } from "./raw-json.js";
import { manyValues, SchemaViolation, tooDeep, tooMany, tooManyValues } from "../validation/schema-violation.js";
import { detailsOf, typeDetail } from "../validation/validation.js";

/** Values that a body may have besides those inside free JSON, each of which takes memory and time. */
const maxValues = 400_000;
/** Further ones for each item of a list that may be long. */
const valuesOfItem = 20;
/** Levels of arrays and objects that one piece of free JSON, or the rest of a body, may have. */
const maxDepth = 200;

/**
 * Reads a JSON body in one pass: free JSON is cut out as text, nulls of optional keys are left out, defaults are filled
 * in, unknown keys are skipped. Throws `Malformed` or `SchemaViolation`. `noControls` is the result of
 * `hasNoControlCharacters` for the text; false is always correct, only slower. `values` is the number of values that the
 * body may have, besides those of long lists.
 */
export function readJson(text: string, plan: Plan | undefined, noControls = false, values = maxValues): JsonBody {
  const reader = new Reader(text, noControls, values);
  reader.at = skipSpace(text, 0);
  const value = reader.value(plan);
  const end = skipSpace(text, reader.at);
  if (end < text.length) throw new Malformed("something after the end of the JSON value", end);
  return { value, mistakes: reader.mistakes, values: reader.values };
}

export interface JsonBody {
  value: unknown;
  /** Free JSON of a type that it may not have, the first ones. */
  mistakes: readonly Detail[];
  /** How many values it has, those inside free JSON not counted. */
  values: number;
}

const maxMistakes = 10;

class Reader {
  at = 0;
  readonly mistakes: Detail[] = [];
  values = 0;
  #depth = 0;
  #mostValues: number;
  readonly #text: string;
  readonly #scanner: Scanner;
  readonly #path: (string | number)[] = ["body"];

  constructor(text: string, noControls: boolean, values: number) {
    this.#text = text;
    this.#mostValues = values;
    this.#scanner = new Scanner(text, noControls);
  }

  value(plan: Plan | undefined): unknown {
    if (++this.values > this.#mostValues) throw tooManyValues(this.#path);
    const c = this.#text.charCodeAt(this.at);
    if (plan?.raw !== undefined) return this.#raw(plan.raw, c);
    if (c === 34) return this.#string();
    if (c === 123) return this.#object(plan);
    if (c === 91) return this.#array(plan);
    const start = this.at;
    this.at = endOfScalar(this.#text, start);
    switch (c) {
      case 116:
        return true;
      case 102:
        return false;
      case 110: // null
      case 78: // NaN
      case 73: // Infinity
        return null;
      default: {
        const source = this.#text.slice(start, this.at);
        if (source === "-Infinity") return null;
        return plan?.exactIntegers === true ? exactNumber(source) : Number(source);
      }
    }
  }

  #raw(types: ReadonlySet<string>, c: number): RawJson {
    const start = this.at;
    const { end, depth } = this.#scanner.measure(start);
    if (types.size > 0 && !types.has(kindOf(c)) && this.mistakes.length < maxMistakes)
      this.mistakes.push({ loc: [...this.#path], ...typeDetail(types) });
    if (depth > maxDepth) throw tooDeep(this.#path, maxDepth);
    this.at = end;
    return new RawJson(this.#text.slice(start, end));
  }

  #string(): string {
    const start = this.at;
    this.at = this.#scanner.endOfString(start);
    const inside = this.#text.slice(start + 1, this.at - 1);
    return inside.includes("\\") ? (JSON.parse(this.#text.slice(start, this.at)) as string) : inside;
  }

  #object(plan: Plan | undefined): Record<string, unknown> {
    this.#enter();
    const result: Record<string, unknown> = {};
    const text = this.#text;
    const path = this.#path;
    const known = plan?.properties;
    this.at = skipSpace(text, this.at + 1);
    if (text.charCodeAt(this.at) === 125) this.at++;
    else {
      for (;;) {
        if (text.charCodeAt(this.at) !== 34) throw new Malformed("no key where one should be", this.at);
        const key = this.#string();
        this.at = skipSpace(text, this.at);
        if (text.charCodeAt(this.at) !== 58) throw new Malformed("a key without a colon", this.at);
        this.at = skipSpace(text, this.at + 1);
        const property = known?.get(key);
        if (property === undefined && plan !== undefined && this.#skips(plan)) {
          this.at = this.#scanner.measure(this.at).end;
        } else if (property !== undefined && !property.keepNull && this.#isNull()) {
          this.at = endOfScalar(text, this.at);
          // Deleting what is not there would still make the object slow (dictionary mode).
          if (Object.hasOwn(result, key)) delete result[key];
        } else {
          path.push(key);
          set(result, key, this.value(property === undefined ? plan?.others : property.plan));
          path.pop();
        }
        if (this.#closes(125, "}")) break;
      }
    }
    if (plan !== undefined) {
      for (const [key, value] of plan.defaults) {
        if (!Object.hasOwn(result, key)) result[key] = typeof value === "object" ? structuredClone(value) : value;
      }
    }
    this.#depth--;
    return result;
  }

  #array(plan: Plan | undefined): unknown[] {
    this.#enter();
    const result: unknown[] = [];
    const text = this.#text;
    const path = this.#path;
    // A member of the body: lists in lists would multiply.
    const isLong = plan !== undefined && plan.maxItems !== Infinity && this.#depth === 2;
    this.at = skipSpace(text, this.at + 1);
    if (text.charCodeAt(this.at) === 93) this.at++;
    else {
      for (let index = 0; ; index++) {
        if (plan !== undefined && index >= plan.maxItems) throw tooMany(path, plan.maxItems);
        if (isLong) this.#mostValues += valuesOfItem;
        const item = plan === undefined || index >= plan.prefix.length ? plan?.items : plan.prefix[index];
        path.push(index);
        result.push(plan?.lenient === undefined ? this.value(item) : this.#lenientItem(plan, item));
        path.pop();
        if (this.#closes(93, "]")) break;
      }
    }
    this.#depth--;
    return result;
  }

  #lenientItem(list: Plan, item: Plan | undefined): unknown {
    const at = this.at;
    const depth = this.#depth;
    const height = this.#path.length;
    const before = this.mistakes.length;
    try {
      const value = this.value(item);
      const [mistake] = this.mistakes.splice(before);
      if (mistake !== undefined) return new ItemError(mistake);
      if (list.lenient?.(value) !== false) return value;
      const [detail] = detailsOf(list.lenient.errors, this.#path, value);
      return detail ? new ItemError(detail) : value;
    } catch (error) {
      if (!(error instanceof SchemaViolation) || error.detail.type === manyValues) throw error;
      this.mistakes.length = before;
      this.#path.length = height;
      this.#depth = depth;
      this.at = this.#scanner.measure(at).end;
      return new ItemError(error.detail);
    }
  }

  /** Returns true after the closing bracket, false after a comma. */
  #closes(bracket: number, shown: string): boolean {
    const at = skipSpace(this.#text, this.at);
    const c = this.#text.charCodeAt(at);
    if (c !== bracket && c !== 44) throw new Malformed(`neither a comma nor "${shown}"`, at);
    this.at = c === 44 ? skipSpace(this.#text, at + 1) : at + 1;
    return c === bracket;
  }

  /** Bare NaN and Infinity count as null outside free JSON. */
  #isNull(): boolean {
    const c = this.#text.charCodeAt(this.at);
    return c === 110 || c === 78 || c === 73 || (c === 45 && this.#text.charCodeAt(this.at + 1) === 73);
  }

  /** Newer clients send switches that are off, and nulls, of which older servers know nothing. */
  #skips({ unknown }: Plan): boolean {
    return unknown === "drop" || (unknown === "refuse" && (this.#isNull() || this.#text.charCodeAt(this.at) === 102));
  }

  #enter(): void {
    if (++this.#depth > maxDepth) throw tooDeep(this.#path, maxDepth);
  }
}

/** The number that a token stands for, a bigint where it is a whole one that a number would round. */
function exactNumber(source: string): number | bigint {
  const number = Number(source);
  return Number.isSafeInteger(number) || !/^-?\d{16,20}$/.test(source) ? number : BigInt(source);
}

/** Assigns an own property whatever its name: `__proto__` is a key like any other. */
function set(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}

/** JSON type of a value by its first character. */
function kindOf(c: number): string {
  switch (c) {
    case 123:
      return "object";
    case 91:
      return "array";
    case 34:
      return "string";
    case 116:
    case 102:
      return "boolean";
    case 110:
      return "null";
    default:
      return "number";
  }
}
