import type { Parameters } from "../engine/parameters.js";
import type { CallOrder, OrderKey } from "./sort.js";

/** A place in an order: the value of each of its keys as text, null where it is absent. */
export type OrderPosition = ReadonlyArray<string | null>;

/** How an order is read that is not read from its beginning. */
export interface Seek {
  /** From its end to its beginning. */
  reversed: boolean;
  /** Only what comes after this place, in the direction of reading. */
  from: OrderPosition | undefined;
}

/** So many characters of a text count for the order: a position holds it. */
export const seekCharacters = 500;

/** The conditions that a call comes after the place, in the order as it is read. */
export function beyond(p: Parameters, { keys }: CallOrder, { from, reversed }: Seek): string[] {
  if (from === undefined) return [];
  const condition = keys.reduceRight((rest, key, at) => comesAfter(p, key, from[at] ?? null, { rest, reversed }), "0");
  const [first] = keys;
  const [start] = from;
  // The key of the table is used for this condition, and not for one of several alternatives.
  const near =
    first?.name === "started_at" && start
      ? [`started_at ${first.direction === "ASC" ? ">=" : "<="} ${p.time(BigInt(start))}`]
      : [];
  return [...near, condition];
}

/** That a key comes after a value, or is equal and `rest` holds. */
function comesAfter(
  p: Parameters,
  { name, type, direction, nullable }: OrderKey,
  value: string | null,
  { rest, reversed }: { rest: string; reversed: boolean },
): string {
  if (value === null) return reversed ? `(isNotNull(${name}) OR ${rest})` : `(isNull(${name}) AND ${rest})`;
  const bound = bind(p, type, value);
  const after = `${name} ${direction === "ASC" ? ">" : "<"} ${bound}`;
  const orNull = nullable && !reversed ? ` OR isNull(${name})` : "";
  return `(${after}${orNull} OR (${name} = ${bound} AND ${rest}))`;
}

function bind(p: Parameters, type: OrderKey["type"], value: string): string {
  if (type === "time") return p.time(BigInt(value));
  if (type === "double") return p.bind("Float64", Number(value));
  return type === "int" ? p.bind("Int64", BigInt(value)) : p.bind("String", value);
}

/** The column `position` of the calls of an order. */
export function positionColumn({ keys }: CallOrder): string {
  return `[${keys.map(positionText).join(", ")}] AS position`;
}

function positionText({ name, type }: OrderKey): string {
  const text = type === "time" ? `toUnixTimestamp64Micro(${name})` : name;
  return `CAST(${text}, 'Nullable(String)')`;
}
