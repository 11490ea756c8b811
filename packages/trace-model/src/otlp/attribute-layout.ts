import { HeddleError } from "@heddle/errors";
import type { AttributeBranch } from "./attribute-node.js";
import type { PresentSource, Sources } from "./source-path.js";
import { maxValueNesting } from "./value-json.js";

/** What follows from the keys of attributes. */
export interface AttributeLayout {
  root: AttributeBranch;
  /** Why the keys cannot be unfolded; the root then holds them as they are. */
  problem: string | undefined;
  /** Which of some sources can be there, so that each span looks at these only. */
  present: Map<Sources, PresentSource[]>;
}

export function layoutOf(keys: readonly string[]): AttributeLayout {
  try {
    return { root: unfoldedKeys(keys), problem: undefined, present: new Map() };
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    const root = { children: new Map(keys.map((key, index) => [key, index])) };
    return { root, problem: error.message, present: new Map() };
  }
}

/** Of a repeated key the last value counts. One key cannot be both a value and the parent of others. */
function unfoldedKeys(keys: readonly string[]): AttributeBranch {
  const root: AttributeBranch = { children: new Map() };
  for (const [index, key] of keys.entries()) {
    const segments = key.split(".");
    const last = segments.pop() ?? "";
    if (segments.length > maxValueNesting) throw new HeddleError("invalid", `the attribute ${key} is too deep`);
    let { children } = root;
    for (const segment of segments) {
      let next = children.get(segment);
      if (typeof next === "number") throw conflict(key);
      if (next === undefined) {
        next = { children: new Map() };
        children.set(segment, next);
      }
      children = next.children;
    }
    if (typeof children.get(last) === "object") throw conflict(key);
    children.set(last, index);
  }
  return root;
}

function conflict(key: string): HeddleError {
  return new HeddleError(
    "invalid",
    `the attribute ${key} conflicts with another one: a key cannot hold both a value and further keys`,
  );
}
