import type { Dict, Value } from "./values.js";
import { Float, integer } from "./values.js";

/**
 * Converts a JSON value to a value of a template. A number without a fraction is an `int`, except inside of a `Map`: it
 * comes from `parseExactJson`, which keeps `1` and `1.0` apart.
 */
export function templateValue(value: unknown, exact = false): Value {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "bigint") return integer(value);
  if (typeof value === "number") return Number.isSafeInteger(value) && !exact ? value : new Float(value);
  if (Array.isArray(value)) return value.map((item) => templateValue(item, exact));
  if (typeof value !== "object") return undefined;
  const isExact = exact || value instanceof Map;
  const dict: Dict = new Map();
  for (const [key, item] of value instanceof Map ? value : Object.entries(value)) {
    if (item !== undefined) dict.set(String(key), templateValue(item, isExact));
  }
  return dict;
}
