import { HeddleError } from "@heddle/errors";
import type { BlobReadOptions } from "./port.js";

/** The bytes to deliver, `end` exclusive, for a blob of `size` bytes. */
export function resolveRange(range: BlobReadOptions["range"], size: number): { start: number; end: number } {
  if (range === undefined) return { start: 0, end: size };
  const { start, end: last = Infinity } = range;
  const whole = Number.isSafeInteger(start) && (last === Infinity || Number.isSafeInteger(last));
  if (!whole || start < 0 || last < start || start >= size) {
    throw new HeddleError("invalid", `range ${start}-${range.end ?? ""} is outside a blob of ${size} bytes`);
  }
  return { start, end: Math.min(last + 1, size) };
}
