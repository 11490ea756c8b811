import type { OperationEntry } from "../operations/definition.js";

/**
 * Returns where in the request a path into the operation's input is: after `path`, `query` or `header` when it begins
 * with the name of such a parameter, otherwise after `body`.
 */
export function requestLoc(
  operation: OperationEntry | undefined,
  loc: readonly (string | number)[],
): (string | number)[] {
  const isNamed = ({ name }: { name: string }) => name === loc[0];
  const part = (["path", "query", "header"] as const).find((key) => operation?.[key]?.entries.some(isNamed));
  return [part ?? "body", ...loc];
}
