import { formatTime } from "../src/time.js";
import type { CastTarget, ValueType } from "../src/query/expression.js";

/** A value of a query: int and time are bigint, time in microseconds. */
export type Value = string | number | bigint | boolean | null;

/** Casts a value; null when it cannot be one. `exists` is decided before values are read. */
export function convertValue(value: Value, from: ValueType | null, to: Exclude<CastTarget, "exists">): Value {
  if (value === null) return null;
  if (to === "string") return from === "time" ? formatTime(BigInt(value)) : String(value);
  if (from === "time") return fromTime(BigInt(value), to);
  if (to === "bool") return toBool(value);
  return to === "double" ? toDouble(value) : toInt(value);
}

/** A time as a number is unix seconds. */
function fromTime(us: bigint, to: "double" | "int" | "bool"): Value {
  if (to === "bool") return null;
  return to === "double" ? Number(us) / 1e6 : us / 1_000_000n;
}

function toBool(value: NonNullable<Value>): Value {
  const text = String(value);
  if (text === "true" || text === "1") return true;
  return text === "false" || text === "0" ? false : null;
}

function toDouble(value: NonNullable<Value>): Value {
  if (typeof value !== "string") return Number(value);
  if (!/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(value)) return null;
  return Number(value);
}

function toInt(value: NonNullable<Value>): Value {
  if (typeof value === "number") return Number.isInteger(value) ? int64(BigInt(value)) : null;
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (typeof value === "bigint") return value;
  return /^[+-]?\d{1,20}$/.test(value) ? int64(BigInt(value)) : null;
}

function int64(value: bigint): bigint | null {
  return value >= -(2n ** 63n) && value < 2n ** 63n ? value : null;
}
