import type { Budget } from "./budget.js";
import { bind, integerArgument } from "./signature.js";
import type { Operand } from "./operands.js";
import { countPass } from "./operands.js";
import { equal } from "./operators.js";
import { TemplateError } from "./template-error.js";
import { textMethods } from "./text-methods.js";
import type { Arguments, Dict, Value } from "./values.js";
import {
  Attributes,
  Callable,
  Float,
  Namespace,
  Tuple,
  characters,
  dictKey,
  hasSurrogates,
  integer,
  typeName,
} from "./values.js";

const changing = {
  list: ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"],
  dict: ["clear", "pop", "popitem", "setdefault", "update"],
};

/** Each is counted as a pass over the entries, except `get`. */
const dictMethods = new Map<string, (dict: Dict, args: Arguments, budget: Budget) => Value>([
  [
    "get",
    (dict, args, budget) => {
      const [key, fallback] = bind("get", args, ["key", "default"], 1);
      const own = dictKey(key, budget);
      const known = dict.get(own);
      return known === undefined && !dict.has(own) ? (fallback ?? null) : known;
    },
  ],
  ["items", (dict) => Array.from(dict, ([key, value]) => new Tuple([key, value]))],
  ["keys", (dict) => [...dict.keys()]],
  ["values", (dict) => [...dict.values()]],
  ["copy", (dict) => new Map(dict)],
]);

/** Each is counted as a pass over the items. */
const listMethods = new Map<string, (items: readonly Value[], args: Arguments, budget: Budget) => Value>([
  [
    "index",
    (items, args, budget) => {
      const [item] = bind("index", args, ["value"], 1);
      const at = items.findIndex((each) => equal(each, item, budget));
      if (at < 0) throw new TemplateError("the value is not in the list");
      return at;
    },
  ],
  [
    "count",
    (items, args, budget) => {
      const [item] = bind("count", args, ["value"], 1);
      return items.filter((each) => equal(each, item, budget)).length;
    },
  ],
  ["copy", (items) => [...items]],
]);

/** Evaluates `object.name`: an attribute or method, else the item of that name. */
export function attributeOf(object: Value, name: string, budget: Budget): Value {
  const own = ownAttribute(object, name, budget);
  return own === undefined && object instanceof Map ? object.get(name) : own;
}

/** Evaluates `object[key]`: the item, else the attribute or method of that name. */
export function itemOf(object: Value, key: Value, budget: Budget): Value {
  if (object instanceof Map) {
    const known = object.get(dictKey(key, budget));
    if (known !== undefined) return known;
  } else if (typeof key === "number" || typeof key === "boolean") {
    const items = indexed(object, budget);
    if (items) return items.at(Number(key));
  }
  return typeof key === "string" ? ownAttribute(object, key, budget) : undefined;
}

function indexed(object: Value, budget: Budget): string | readonly Value[] | undefined {
  if (typeof object === "string") {
    budget.read(object.length);
    return hasSurrogates(object) ? characters(object, budget) : object;
  }
  if (Array.isArray(object)) return object;
  return object instanceof Tuple ? object.items : undefined;
}

function ownAttribute(object: Value, name: string, budget: Budget): Value {
  if (object instanceof Namespace) return object.attributes.get(name);
  if (object instanceof Attributes) return object.attribute(name);
  if (typeof object === "string") return method(textMethods, object, name, budget);
  if (object instanceof Map) {
    refuseChange("dict", name);
    return method(dictMethods, object, name, budget);
  }
  const items = Array.isArray(object) ? object : object instanceof Tuple ? object.items : undefined;
  if (Array.isArray(object)) refuseChange("list", name);
  if (items) return method(listMethods, items, name, budget);
  if (object instanceof Float && name === "is_integer") {
    return new Callable(name, () => Number.isInteger(object.value));
  }
  return undefined;
}

function method<Self extends Operand>(
  methods: ReadonlyMap<string, (self: Self, args: Arguments, budget: Budget) => Value>,
  self: Self,
  name: string,
  budget: Budget,
): Value {
  const run = methods.get(name);
  return (
    run &&
    new Callable(name, (args) => {
      if (!(self instanceof Map && name === "get")) countPass([self], budget);
      countPass(args.positional, budget);
      countPass(args.named.values(), budget);
      return run(self, args, budget);
    })
  );
}

function refuseChange(type: "list" | "dict", name: string): void {
  if (changing[type].includes(name)) {
    throw new TemplateError(`access to attribute '${name}' of '${type}' object is unsafe`);
  }
}

interface Bounds {
  start: Value;
  stop: Value;
  step: Value;
}

/** Evaluates `object[start:stop:step]`. */
export function sliceOf(object: Value, bounds: Bounds, budget: Budget): Value {
  if (typeof object === "string") {
    // Every character is copied several times where they are not UTF-16 units, or not adjacent.
    const adjacent = bounds.step === undefined || bounds.step === null || bounds.step === 1;
    const isSimple = adjacent && !hasSurrogates(object);
    budget.read(object.length, isSimple ? 1 : 32);
    return isSimple ? (slice(object, bounds) as string) : (slice(Array.from(object), bounds) as string[]).join("");
  }
  if (Array.isArray(object)) {
    countPass([object], budget);
    return slice(object, bounds) as Value[];
  }
  if (object instanceof Tuple) {
    countPass([object], budget);
    return new Tuple(slice(object.items, bounds) as Value[]);
  }
  throw new TemplateError(`'${typeName(object)}' object is not subscriptable`);
}

function slice(items: string | readonly Value[], bounds: Bounds): string | readonly Value[] {
  const step = integerArgument("slice", bounds.step, 1);
  if (step === 0) throw new TemplateError("slice step cannot be zero");
  const length = items.length;
  const first = step > 0 ? 0 : -1;
  const last = step > 0 ? length : length - 1;
  const clamp = (value: Value, fallback: number): number => {
    if (value === undefined || value === null) return fallback;
    const index = integerArgument("slice", value, 0);
    return Math.min(Math.max(index < 0 ? index + length : index, first), last);
  };
  const start = clamp(bounds.start, step > 0 ? 0 : length - 1);
  const stop = clamp(bounds.stop, step > 0 ? length : -1);
  if (step === 1) return items.slice(start, Math.max(start, stop));
  const picked: Value[] = [];
  for (let at = start; step > 0 ? at < stop : at > stop; at += step) picked.push(items[at]);
  return picked;
}

/** Follows a path such as `function.name` or `0.role`, as the `attribute` of filters does. */
export function pathOf(value: Value, path: Value, budget: Budget): Value {
  if (typeof path === "string") budget.read(path.length, 8);
  const parts = typeof path === "string" ? path.split(".") : [path];
  let found = value;
  for (const part of parts) {
    if (found === undefined) throw new TemplateError("the path of attributes leads through an undefined value");
    const key = typeof part === "string" && /^\d+$/.test(part) ? integer(BigInt(part)) : part;
    found = itemOf(found, key, budget);
  }
  return found;
}
