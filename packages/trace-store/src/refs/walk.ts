import { stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { parseRef, selectPath } from "@heddle/trace-model";
import type { Ref, RefEdge } from "@heddle/trace-model";

/** How far the path of a ref was followed. */
export type Step =
  /** The path ends here; null when nothing is there. */
  | { state: "done"; text: JsonText | null }
  /** The path continues in another value. */
  | { state: "enter"; target: Ref; edges: readonly RefEdge[] };

/**
 * Follows edges inside one value as far as they go. A string that is a ref is entered when there are edges left: a
 * table by the `id` edge of a row, an object by any other.
 */
export function walk(text: JsonText, edges: readonly RefEdge[]): Step {
  let current: JsonText | undefined = text;
  for (const [position, edge] of edges.entries()) {
    const inner: string | undefined = stringValue(current);
    if (inner !== undefined) {
      const target = parseRef(inner);
      if (target === undefined) return { state: "done", text: null };
      return { state: "enter", target, edges: edges.slice(position) };
    }
    current = selectPath(current, [edge]);
    if (current === undefined) return { state: "done", text: null };
  }
  return { state: "done", text: current };
}
