import type { Budget } from "./budget.js";
import { TemplateError } from "./template-error.js";

/**
 * A value of a template. A `number` is a Python `int` that is safe, a `bigint` a larger one; `undefined` is Jinja's
 * undefined value and `null` is `None`.
 */
export type Value =
  | undefined
  | null
  | boolean
  | number
  | bigint
  | string
  | Float
  | Value[]
  | Tuple
  | Dict
  | Generator
  | Namespace
  | Attributes
  | Callable;

export type Dict = Map<Value, Value>;

export class Float {
  constructor(readonly value: number) {}
}

export class Tuple {
  constructor(readonly items: readonly Value[]) {}
}

/** The result of `map`, `select` and similar filters: true even if it is empty, and empty after it was read once. */
export class Generator {
  #items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.#items = items;
  }

  take(): readonly Value[] {
    const items = this.#items;
    this.#items = [];
    return items;
  }
}

/** The result of `namespace()`, whose attributes a template can set. */
export class Namespace {
  readonly attributes = new Map<string, Value>();
}

/** An object of the template engine with attributes, such as `loop`. */
export abstract class Attributes {
  abstract readonly typeName: string;
  abstract attribute(name: string): Value;
  call(_args: Arguments): Value {
    throw new TemplateError(`'${this.typeName}' object is not callable`);
  }
}

export class Callable {
  constructor(
    readonly name: string,
    readonly call: (args: Arguments) => Value,
  ) {}
}

export interface Arguments {
  positional: readonly Value[];
  named: ReadonlyMap<string, Value>;
}

/** The name of the Python type, for messages. */
export function typeName(value: Value): string {
  if (value === undefined) return "Undefined";
  if (value === null) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number" || typeof value === "bigint") return "int";
  if (typeof value === "string") return "str";
  if (value instanceof Float) return "float";
  if (Array.isArray(value)) return "list";
  if (value instanceof Tuple) return "tuple";
  if (value instanceof Map) return "dict";
  if (value instanceof Generator) return "generator";
  if (value instanceof Namespace) return "Namespace";
  return value instanceof Callable ? "function" : value.typeName;
}

export function isTrue(value: Value): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "object") {
    if (value instanceof Float) return value.value !== 0;
    if (Array.isArray(value)) return value.length > 0;
    if (value instanceof Tuple) return value.items.length > 0;
    return value instanceof Map ? value.size > 0 : true;
  }
  return Boolean(value);
}

/** Returns the items that a loop over the value would visit, or undefined for a value that is not iterable. */
export function itemsOf(value: Value, budget: Budget): readonly Value[] | undefined {
  if (value === undefined) return [];
  if (typeof value === "string") return characters(value, budget);
  if (Array.isArray(value)) return value;
  if (value instanceof Tuple) return value.items;
  if (value instanceof Map) {
    budget.makeItems(value.size);
    return [...value.keys()];
  }
  return value instanceof Generator ? value.take() : undefined;
}

/** Returns the code points of a text. */
export function characters(text: string, budget: Budget): string[] {
  budget.read(text.length, 2);
  budget.makeItems(codePoints(text));
  return Array.from(text);
}

/** Like `itemsOf`, but throws for a value that is not iterable. */
export function iterate(value: Value, budget: Budget): readonly Value[] {
  const items = itemsOf(value, budget);
  if (!items) throw new TemplateError(`'${typeName(value)}' object is not iterable`);
  return items;
}

/** The number of items, or undefined for a value without a length. The length of text is in code points. */
export function lengthOf(value: Value, budget: Budget): number | undefined {
  if (value === undefined) return 0;
  if (typeof value === "string") {
    budget.read(value.length, 8);
    return codePoints(value);
  }
  if (Array.isArray(value)) return value.length;
  if (value instanceof Tuple) return value.items.length;
  return value instanceof Map ? value.size : undefined;
}

const surrogate = /[\ud800-\udfff]/;

export function hasSurrogates(text: string): boolean {
  return surrogate.test(text);
}

export function codePoints(text: string): number {
  if (!hasSurrogates(text)) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Returns an integer as `number` if it is safe. */
export function integer(value: bigint): number | bigint {
  const short = Number(value);
  return Number.isSafeInteger(short) ? short : value;
}

/** The key of a dict: equal keys of different numeric types are the same key in Python. */
export function dictKey(key: Value, budget: Budget): Value {
  if (typeof key === "string") budget.read(key.length);
  if (key instanceof Float && Number.isSafeInteger(key.value)) return key.value;
  if (typeof key === "boolean") return Number(key);
  if (Array.isArray(key) || key instanceof Map) throw new TemplateError(`unhashable type: '${typeName(key)}'`);
  return key;
}
