import type { AttributeBranch } from "./attribute-node.js";
import type { PresentSource, Sources } from "./source-path.js";
import { maxValueNesting } from "./value-json.js";

/** What follows from the keys of attributes. */
export interface AttributeLayout {
  root: AttributeBranch;
  /** Whether a key has a value and further keys below it: what becomes of these depends on the value. */
  overlaps: boolean;
  /** Keys with more segments than values may nest; they are not unfolded. */
  tooDeep: readonly string[];
  /** Which of some sources can be there, so that each span looks at these only. */
  present: Map<Sources, PresentSource[]>;
}

/** Unfolds keys at their dots. Of a repeated key the last value counts. */
export function layoutOf(keys: readonly string[]): AttributeLayout {
  const root: AttributeBranch = { children: new Map() };
  const tooDeep: string[] = [];
  let overlaps = false;
  for (const [index, key] of keys.entries()) {
    const segments = key.split(".");
    const last = segments.pop() ?? "";
    if (segments.length > maxValueNesting) {
      if (!root.children.has(key)) tooDeep.push(key);
      root.children.set(key, index);
      continue;
    }
    let { children } = root;
    for (const segment of segments) {
      let next = children.get(segment);
      if (typeof next !== "object") {
        overlaps ||= next !== undefined;
        next = { own: next, children: new Map() };
        children.set(segment, next);
      }
      children = next.children;
    }
    const there = children.get(last);
    if (typeof there === "object") {
      overlaps = true;
      there.own = index;
    } else children.set(last, index);
  }
  return { root, overlaps, tooDeep, present: new Map() };
}
