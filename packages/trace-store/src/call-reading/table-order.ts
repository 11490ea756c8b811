import type { CallField, SortKey } from "@heddle/trace-model";
import { compareStarts } from "../stored-calls/compare-starts.js";
import type { Positioned } from "../stored-calls/compare-starts.js";

/** The calls in the order of the table or its reverse. */
export function inTableOrder<Call extends Positioned>(
  calls: readonly Call[],
  direction: SortKey<CallField>["direction"],
): Call[] {
  const sign = direction === "desc" ? -1 : 1;
  return calls.toSorted((a, b) => sign * compareStarts(a, b));
}
