import { canonicalJson } from "@heddle/exact-json";
import type { SelectedCall } from "./select-calls.js";

export interface CallPair {
  chosen: SelectedCall;
  rejected: SelectedCall;
}

/**
 * Makes pairs of calls with the same messages and tools: of each such group the call with the highest reward and that with
 * the lowest, the second highest and the second lowest, and so on, as long as their rewards differ by `minMargin`, and at
 * all. A call is in one pair at most; what remains is `alone`.
 */
export function callPairs(
  calls: readonly SelectedCall[],
  minMargin: number,
): { pairs: CallPair[]; alone: SelectedCall[] } {
  const groups = new Map<string, SelectedCall[]>();
  for (const call of calls) {
    const key = promptOf(call);
    groups.set(key, [...(groups.get(key) ?? []), call]);
  }
  const pairs: CallPair[] = [];
  const alone: SelectedCall[] = [];
  for (const group of groups.values()) {
    const sorted = group.toSorted((left, right) => (right.reward ?? 0) - (left.reward ?? 0));
    for (const [at, chosen] of sorted.entries()) {
      const rejected = sorted[sorted.length - 1 - at];
      if (at >= sorted.length / 2 || rejected === undefined) break;
      const margin = (chosen.reward ?? 0) - (rejected.reward ?? 0);
      if (chosen !== rejected && margin > 0 && margin >= minMargin) pairs.push({ chosen, rejected });
      else alone.push(...new Set([chosen, rejected]));
    }
  }
  return { pairs, alone };
}

/** Equal for calls whose answers can be compared: what they were asked, and with which tools. */
export function promptOf({ messages, tools }: SelectedCall): string {
  return canonicalJson(`[[${messages.join(",")}],${tools ?? "null"}]`);
}
