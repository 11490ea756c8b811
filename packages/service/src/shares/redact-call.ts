import { HeddleError, withLoc } from "@heddle/errors";
import { parseCallField } from "@heddle/trace-model";
import type { StoredCall } from "@heddle/trace-store";
import { redact } from "./redact.js";

/** These are always objects. */
const objects = ["inputs", "attributes", "summary"] as const;

/** Throws `unprocessable`, with a loc that begins with `redact`, for what calls do not have. */
export function checkRedact(paths: readonly string[]): void {
  for (const [at, path] of paths.entries()) withLoc(["redact", at], () => pathOf(path));
}

/** A call without what a share does not show. */
export function redactCall(call: StoredCall, paths: readonly string[]): StoredCall {
  const all = paths.map(pathOf);
  const of = (column: string) => all.filter(([root]) => root === column).map((path) => path.slice(1));
  const result = { ...call, output: redact(call.output, of("output")) };
  for (const column of objects) {
    const hidden = of(column);
    result[column] = hidden.some((path) => path.length === 0) ? "{}" : redact(call[column], hidden);
  }
  if (result.exception !== null && of("exception").length > 0) result.exception = "[redacted]";
  return result;
}

function pathOf(text: string): readonly string[] {
  if (text === "exception") return [text];
  const field = parseCallField(text);
  if (field.kind === "json") return [field.column, ...field.path];
  const known = "inputs, output, attributes, summary, paths into them, and exception";
  throw new HeddleError("unprocessable", `a share cannot hide ${text}; it can hide ${known}`, { loc: [] });
}
