import { lineDiff } from "../diff/line-diff.js";

/** One of both lists, or of one alone: -1 in the other. */
export type Match = readonly [before: number, after: number];

/** Changes of a list up to which the fewest are looked for. */
const mostChanges = 400;
/** How many of the other list are passed over to find one that is alike, where there are more changes. */
const furthest = 100;

/**
 * Pairs of two lists that are alike and in the same order in both: the most there are, and in lists that have little in common many of
 * them. Those without a partner come between, the ones of the first list before those of the second.
 */
export function matched(before: readonly string[], after: readonly string[]): Match[] {
  const lines = lineDiff(before, after, mostChanges, greedy);
  let [left, right] = [0, 0];
  return lines.map(({ kind }): Match => {
    if (kind === "same") return [left++, right++];
    return kind === "removed" ? [left++, -1] : [-1, right++];
  });
}

/** Each takes the next that is alike, if it is near. */
function greedy(left: readonly string[], right: readonly string[]): ("same" | "removed" | "added")[] {
  const kinds: ("same" | "removed" | "added")[] = [];
  let at = 0;
  for (const text of left) {
    const found = right.slice(at, at + furthest).indexOf(text);
    if (found < 0) {
      kinds.push("removed");
      continue;
    }
    for (let passed = 0; passed < found; passed++) kinds.push("added");
    kinds.push("same");
    at += found + 1;
  }
  for (; at < right.length; at++) kinds.push("added");
  return kinds;
}
