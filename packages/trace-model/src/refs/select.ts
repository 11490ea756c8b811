import type { RefEdge } from "./ref.js";
import { arrayItems, memberOf } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/**
 * Follows the steps of a ref into a value and gives the exact text found there. Undefined when a step leads nowhere;
 * an `id` step always does, as it selects a row of another table.
 */
export function selectPath(text: JsonText, steps: readonly RefEdge[]): JsonText | undefined {
  let current: JsonText | undefined = text;
  for (const { edge, value } of steps) {
    if (current === undefined) return undefined;
    if (edge === "attr" || edge === "key") current = memberOf(current, value);
    else if (edge === "index") current = arrayItems(current)[Number(value)];
    else return undefined;
  }
  return current;
}
