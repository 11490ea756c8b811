import { HeddleError } from "@heddle/errors";
import { canonicalJson } from "@heddle/exact-json";
import { leafAt, splitPath } from "@heddle/trace-model";
import type { StoredCall } from "@heddle/trace-store";

const documents = ["inputs", "output", "attributes", "summary"] as const;
const columns = ["trace_id", "parent_id", "thread_id", "turn_id", "wb_run_id"] as const;

/**
 * Returns what reads the value at a path of calls, as a text that is equal for equal values; it returns undefined for a
 * call without one. Throws `unprocessable` for a path that leads to no property of calls.
 */
export function groupReader(path: string): (call: StoredCall) => string | undefined {
  const [root = "", ...steps] = splitPath(path);
  const document = documents.find((name) => name === root);
  if (document !== undefined) {
    return (call) => {
      const value = leafAt(call[document], steps);
      return value === undefined ? undefined : canonicalJson(value);
    };
  }
  const column = columns.find((name) => name === root);
  if (column !== undefined && steps.length === 0) return (call) => call[column] ?? undefined;
  throw new HeddleError(
    "unprocessable",
    `begins with ${documents.join(", ")}, or is ${columns.join(", ")}, not ${JSON.stringify(path.slice(0, 100))}`,
    { loc: ["group_by"] },
  );
}
