import type { Budget } from "./budget.js";
import type { Value } from "./values.js";
import { Tuple } from "./values.js";

/** A value, or the items of one. */
export type Operand = Value | readonly Value[];

/** Counts one pass over the characters, items or entries of each value. */
export function countPass(values: Iterable<Operand>, budget: Budget): void {
  for (const value of values) {
    if (typeof value === "string") budget.read(value.length);
    else if (Array.isArray(value)) budget.spend(value.length / 10);
    else if (value instanceof Tuple) budget.spend(value.items.length / 10);
    else if (value instanceof Map) budget.spend(value.size);
  }
}
