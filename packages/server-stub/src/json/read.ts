import { Container } from "./container.js";
import { LongString, shortString } from "./long-string.js";
import { pending, Scanner } from "./scan.js";
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

/** Named as for `readJson`. */
export interface ReadOptions {
  /** The result of `hasNoControlCharacters` for the text. False is always correct, only slower. */
  noControls?: boolean;
  /** How many values the body may have, besides those of long lists. */
  values?: number;
}

export interface JsonBody {
  readonly value: unknown;
  /** Free JSON of a type that it may not have, the first ones. */
  readonly mistakes: readonly Detail[];
  /** How many values it has, those inside free JSON not counted. */
  readonly values: number;
}

/**
 * Reads a JSON body in one pass: free JSON is cut out as text, nulls of optional keys are left out, defaults are filled
 * in, unknown keys are skipped. Throws `Malformed` or `SchemaViolation`.
 */
export function readJson(text: string, plan: Plan | undefined, options?: ReadOptions): JsonBody {
  const reader = new JsonReader(text, plan, options);
  while (!reader.read(Infinity));
  return reader;
}

const maxMistakes = 10;
/** In place of a value: the rest of it is to be read, or there is none. */
const unfinished = Symbol("unfinished");
const none = Symbol("none");

/** Reads as `readJson` does, a part at a time: it knows what is open, and can stop anywhere. */
export class JsonReader implements JsonBody {
  value: unknown;
  readonly mistakes: Detail[] = [];
  values = 0;
  readonly #text: string;
  readonly #scanner: Scanner;
  readonly #open: Container[] = [];
  /** One step for the body, and one for each container: to what is read of it. */
  readonly #path: (string | number)[] = ["body"];
  #mostValues: number;
  #at: number;
  /** What is read next, or has been read in part. */
  #next: "key" | "item" | "value" | "string" | "measured" = "value";
  #plan: Plan | undefined;
  /** What becomes of the text that is measured. */
  #measured: "free JSON" | "nothing" | ItemError = "nothing";
  #string: LongString | undefined;
  #isComplete = false;

  constructor(text: string, plan: Plan | undefined, { noControls = false, values = maxValues }: ReadOptions = {}) {
    this.#text = text;
    this.#plan = plan;
    this.#mostValues = values;
    this.#scanner = new Scanner(text, noControls);
    this.#at = skipSpace(text, 0);
  }

  /** Reads about so many UTF-16 units more. Returns true when all is read. */
  read(units: number): boolean {
    const until = Math.max(this.#at, this.#scanner.reached) + units;
    this.#scanner.until = until;
    while (!this.#isComplete) {
      try {
        const value = this.#step();
        if (value === unfinished) return false;
        if (value !== none) this.#deliver(value);
      } catch (error) {
        this.#failItem(error);
      }
      if (this.#at >= until) return this.#isComplete;
    }
    return true;
  }

  #step(): unknown {
    switch (this.#next) {
      case "key":
        return this.#readKey(this.#innermost);
      case "item":
        this.#beginItem(this.#innermost);
        return this.#readValue();
      case "value":
        return this.#readValue();
      case "string":
        return this.#readString();
      default:
        return this.#measure();
    }
  }

  get #innermost(): Container {
    return this.#open.at(-1) as Container;
  }

  #readValue(): unknown {
    const plan = this.#plan;
    if (++this.values > this.#mostValues) throw tooManyValues(this.#path);
    const c = this.#text.charCodeAt(this.#at);
    if (plan?.raw !== undefined) return this.#beginMeasured("free JSON");
    if (c === 34) {
      this.#next = "string";
      return this.#readString();
    }
    if (c === 123 || c === 91) return this.#enter(plan, c === 123);
    const start = this.#at;
    this.#at = endOfScalar(this.#text, start);
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
        const source = this.#text.slice(start, this.#at);
        if (source === "-Infinity") return null;
        return plan?.exactIntegers === true ? exactNumber(source) : Number(source);
      }
    }
  }

  /** The string that begins here, or the rest of it. */
  #readString(): string | typeof unfinished {
    if (this.#string === undefined) {
      const start = this.#at;
      const end = this.#scanner.endOfString(start);
      if (end === pending) return unfinished;
      this.#at = end;
      const inside = this.#text.slice(start + 1, end - 1);
      if (!inside.includes("\\")) return inside;
      if (inside.length <= shortString) return JSON.parse(this.#text.slice(start, end)) as string;
      this.#string = new LongString(this.#text, start + 1, end - 1);
    }
    const string = this.#string.read();
    if (string === undefined) return unfinished;
    this.#string = undefined;
    return string;
  }

  #enter(plan: Plan | undefined, isObject: boolean): unknown {
    if (this.#open.length >= maxDepth) throw tooDeep(this.#path, maxDepth);
    // A member of the body: lists in lists would multiply.
    const isLong = !isObject && plan !== undefined && plan.maxItems !== Infinity && this.#open.length === 1;
    const container = new Container(plan, isObject, isLong);
    this.#open.push(container);
    this.#at = skipSpace(this.#text, this.#at + 1);
    if (this.#text.charCodeAt(this.#at) !== (isObject ? 125 : 93)) {
      this.#next = isObject ? "key" : "item";
      return none;
    }
    this.#at++;
    this.#open.pop();
    return container.complete();
  }

  #readKey(object: Container): unknown {
    const text = this.#text;
    if (this.#string === undefined && text.charCodeAt(this.#at) !== 34)
      throw new Malformed("no key where one should be", this.#at);
    const key = this.#readString();
    if (key === unfinished) return unfinished;
    this.#at = skipSpace(text, this.#at);
    if (text.charCodeAt(this.#at) !== 58) throw new Malformed("a key without a colon", this.#at);
    this.#at = skipSpace(text, this.#at + 1);
    const { plan, members = {} } = object;
    const property = plan?.properties?.get(key);
    this.#path.push(key);
    if (property === undefined && plan !== undefined && this.#skips(plan)) return this.#beginMeasured("nothing");
    if (property !== undefined && !property.keepNull && this.#isNull()) {
      this.#at = endOfScalar(text, this.#at);
      // Deleting what is not there would still make the object slow (dictionary mode).
      if (Object.hasOwn(members, key)) delete members[key];
      return this.#endOfPart(object);
    }
    object.key = key;
    this.#plan = property === undefined ? plan?.others : property.plan;
    this.#next = "value";
    return this.#readValue();
  }

  #beginItem(list: Container): void {
    const { plan, items = [] } = list;
    const index = items.length;
    if (plan !== undefined && index >= plan.maxItems) throw tooMany(this.#path, plan.maxItems);
    if (list.isLong) this.#mostValues += valuesOfItem;
    this.#path.push(index);
    this.#plan = plan === undefined || index >= plan.prefix.length ? plan?.items : plan.prefix[index];
    if (plan?.lenient !== undefined) list.item = { at: this.#at, mistakes: this.mistakes.length };
    this.#next = "value";
  }

  #beginMeasured(becomes: "free JSON" | "nothing" | ItemError): unknown {
    this.#measured = becomes;
    this.#scanner.begin(this.#at);
    this.#next = "measured";
    return this.#measure();
  }

  #measure(): unknown {
    const end = this.#scanner.measure();
    if (end === pending) return unfinished;
    const start = this.#at;
    this.#at = end;
    if (this.#measured === "nothing") return this.#endOfPart(this.#innermost);
    if (this.#measured !== "free JSON") return this.#measured;
    const types = this.#plan?.raw;
    if (types !== undefined && types.size > 0 && !types.has(kindOf(this.#text.charCodeAt(start))))
      if (this.mistakes.length < maxMistakes) this.mistakes.push({ loc: [...this.#path], ...typeDetail(types) });
    if (this.#scanner.depth > maxDepth) throw tooDeep(this.#path, maxDepth);
    return new RawJson(this.#text.slice(start, end));
  }

  /** Adds a value to what it is in, and that to what it is in if it was the last one. */
  #deliver(value: unknown): void {
    for (let read = value; read !== none;) {
      const container = this.#open.at(-1);
      if (container === undefined) return this.#end(read);
      container.add(container.item === undefined ? read : this.#checkItem(container, container.item, read));
      read = this.#endOfPart(container);
    }
  }

  #end(value: unknown): void {
    const end = skipSpace(this.#text, this.#at);
    if (end < this.#text.length) throw new Malformed("something after the end of the JSON value", end);
    this.value = value;
    this.#isComplete = true;
  }

  /** After a member or an item. Returns the container after its last one. */
  #endOfPart(container: Container): unknown {
    const isObject = container.members !== undefined;
    const bracket = isObject ? 125 : 93;
    const at = skipSpace(this.#text, this.#at);
    const c = this.#text.charCodeAt(at);
    if (c !== bracket && c !== 44) throw new Malformed(`neither a comma nor "${isObject ? "}" : "]"}"`, at);
    this.#path.pop();
    if (c === 44) {
      this.#at = skipSpace(this.#text, at + 1);
      this.#next = isObject ? "key" : "item";
      return none;
    }
    this.#at = at + 1;
    this.#open.pop();
    return container.complete();
  }

  #checkItem(list: Container, { mistakes }: { mistakes: number }, value: unknown): unknown {
    const [mistake] = this.mistakes.splice(mistakes);
    list.item = undefined;
    if (mistake !== undefined) return new ItemError(mistake);
    const check = list.plan?.lenient;
    if (check === undefined || check(value)) return value;
    const [detail] = detailsOf(check.errors, this.#path, value);
    return detail ? new ItemError(detail) : value;
  }

  /** Goes on after the item of the innermost lenient list. Throws the error where there is none, or it is no such error. */
  #failItem(error: unknown): void {
    if (!(error instanceof SchemaViolation) || error.detail.type === manyValues) throw error;
    const height = this.#open.findLastIndex(({ item }) => item !== undefined) + 1;
    const list = this.#open[height - 1];
    if (list?.item === undefined) throw error;
    this.#open.length = height;
    this.#path.length = height + 1;
    this.mistakes.length = list.item.mistakes;
    this.#at = list.item.at;
    list.item = undefined;
    this.#next = "measured";
    this.#measured = new ItemError(error.detail);
    this.#scanner.begin(this.#at);
  }

  /** Bare NaN and Infinity count as null outside free JSON. */
  #isNull(): boolean {
    const c = this.#text.charCodeAt(this.#at);
    return c === 110 || c === 78 || c === 73 || (c === 45 && this.#text.charCodeAt(this.#at + 1) === 73);
  }

  /** Newer clients send switches that are off, and nulls, of which older servers know nothing. */
  #skips({ unknown }: Plan): boolean {
    return unknown === "drop" || (unknown === "refuse" && (this.#isNull() || this.#text.charCodeAt(this.#at) === 102));
  }
}

/** The number that a token stands for, a bigint where it is a whole one that a number would round. */
function exactNumber(source: string): number | bigint {
  const number = Number(source);
  return Number.isSafeInteger(number) || !/^-?\d{16,20}$/.test(source) ? number : BigInt(source);
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
