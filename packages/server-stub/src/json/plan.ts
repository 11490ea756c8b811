import type { Validator } from "../validation/validation.js";

/**
 * How to read one value of a JSON body, derived from its schema. Generated; entries refer to each other by index.
 * An entry covers every kind of value that is allowed there, so one entry may describe object and array.
 */
export interface PlanEntry {
  /** Cut out as exact text. Lists the types the outermost value may have; empty means any. */
  raw?: readonly string[];
  /** Known keys; the index of the entry of their value, or -1 where it is read without a plan. */
  properties?: Readonly<Record<string, number>>;
  /** Keys whose null is kept. A null of every other known key means absent. */
  keepNull?: readonly string[];
  /** Values of known keys that are absent. */
  defaults?: Readonly<Record<string, unknown>>;
  /** Unknown keys: skipped, kept as they are, kept for the validator to refuse, or read by a plan. */
  others?: "drop" | "keep" | "refuse" | number;
  items?: number;
  /** The first items; the rest follow `items`. */
  prefix?: readonly number[];
  /** Each item is validated on its own by the validator of this name; one that fails becomes an `ItemError`. */
  lenient?: string;
  /** More items than these are rejected as too large. */
  maxItems?: number;
  /** An integer that a number cannot hold is a bigint. */
  exactIntegers?: true;
}

export interface Plan {
  raw: ReadonlySet<string> | undefined;
  properties: ReadonlyMap<string, { plan: Plan | undefined; keepNull: boolean }> | undefined;
  defaults: readonly (readonly [string, unknown])[];
  /** What becomes of unknown keys; those to `refuse` are skipped when they ask for nothing. */
  unknown: PlanEntry["others"];
  others: Plan | undefined;
  items: Plan | undefined;
  prefix: readonly (Plan | undefined)[];
  lenient: Validator | undefined;
  maxItems: number;
  exactIntegers: boolean;
}

/** Turns generated entries into linked plans, once per server. */
export function linkPlans(entries: readonly PlanEntry[], validators: Readonly<Record<string, Validator>>): Plan[] {
  const plans = entries.map((entry): { -readonly [K in keyof Plan]: Plan[K] } => ({
    raw: entry.raw && new Set(entry.raw),
    properties: undefined,
    defaults: Object.entries(entry.defaults ?? {}),
    unknown: entry.others,
    others: undefined,
    items: undefined,
    prefix: [],
    lenient: entry.lenient === undefined ? undefined : validators[entry.lenient],
    maxItems: entry.maxItems ?? Infinity,
    exactIntegers: entry.exactIntegers === true,
  }));
  for (const [index, entry] of entries.entries()) {
    const plan = plans[index];
    if (plan === undefined) continue;
    if (entry.properties) {
      plan.properties = new Map(
        Object.entries(entry.properties).map(([key, index]) => [
          key,
          { plan: plans[index], keepNull: entry.keepNull?.includes(key) ?? false },
        ]),
      );
    }
    if (typeof entry.others === "number") plan.others = plans[entry.others];
    if (entry.items !== undefined) plan.items = plans[entry.items];
    plan.prefix = entry.prefix?.map((index) => plans[index]) ?? [];
  }
  return plans;
}
