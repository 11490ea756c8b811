import { strftime } from "../strftime.js";
import { TemplateLimitError } from "../template-limits.js";
import type { Budget } from "./budget.js";
import { toText } from "./python-text.js";
import { bind, textArgument } from "./signature.js";
import { TemplateError } from "./template-error.js";
import type { Arguments, Value } from "./values.js";
import { Callable, Namespace, dictKey, iterate } from "./values.js";

/** The functions that `transformers` gives to chat templates. */
export function templateGlobals(budget: Budget, now: Date): [string, Value][] {
  const functions: Record<string, (args: Arguments) => Value> = {
    range: ({ positional }) => range(positional, budget),
    namespace: (args) => {
      const created = new Namespace();
      for (const [key, value] of entriesOf(args, budget)) setAttribute(created, textArgument("namespace", key), value);
      return created;
    },
    dict: (args) => new Map(entriesOf(args, budget)),
    strftime_now: (args) => {
      const [format] = bind("strftime_now", args, ["format"], 1);
      const text = textArgument("strftime_now", format);
      budget.read(text.length, 100);
      return budget.text(strftime(now, text));
    },
    raise_exception: (args) => {
      throw new TemplateError(toText(bind("raise_exception", args, ["message"], 1)[0], budget));
    },
  };
  return Object.entries(functions).map(([name, run]) => [name, new Callable(name, run)]);
}

export function setAttribute(namespace: Namespace, name: string, value: Value): void {
  if (name.startsWith("_")) throw new TemplateError(`a namespace cannot have the attribute '${name}'`);
  namespace.attributes.set(name, value);
}

function entriesOf({ positional, named }: Arguments, budget: Budget): [Value, Value][] {
  if (positional.length > 1) throw new TemplateError(`expected at most 1 argument, got ${positional.length}`);
  const [given] = positional;
  const items = given instanceof Map ? undefined : iterate(given, budget);
  budget.makeEntries((given instanceof Map ? given.size : (items?.length ?? 0)) + named.size);
  const pairs = given instanceof Map ? [...given] : (items ?? []).map((item) => pairOf(item, budget));
  return [...pairs, ...named];
}

function pairOf(item: Value, budget: Budget): [Value, Value] {
  const pair = iterate(item, budget);
  const [key, value] = pair;
  if (pair.length > 2) throw new TemplateError("expected pairs of a key and a value");
  return [dictKey(key, budget), value];
}

function range(args: readonly Value[], budget: Budget): number[] {
  const numbers = args.map((value) => (typeof value === "boolean" ? Number(value) : value));
  if (numbers.length === 0 || numbers.length > 3 || !numbers.every((value) => typeof value === "number")) {
    throw new TemplateError("range() takes integers");
  }
  const [first = 0, second, step = 1] = numbers;
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  if (step === 0) throw new TemplateError("range() step must not be zero");
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (length > budget.limits.range) {
    throw new TemplateLimitError(`range() of ${length} numbers; at most ${budget.limits.range}`);
  }
  budget.makeItems(length);
  return Array.from({ length }, (_, index) => start + index * step);
}
