import type { Budget } from "./budget.js";
import type { Arguments, Value } from "./values.js";

export interface FilterContext {
  budget: Budget;
  /** Applies another filter. */
  filter(name: string, value: Value, args: Arguments): Value;
}

export type Filter = (value: Value, args: Arguments, context: FilterContext) => Value;
