import type { CallScope } from "./visible-calls.js";

/**
 * Reads the complete and the running calls of a project apart, which takes less time than a statement about both. A call that
 * ends meanwhile may have been read twice or not at all: then, and while calls are ending, they are read `together`.
 */
export async function readApart<T>(
  { project_id, inFlight }: CallScope,
  apart: () => Promise<T>,
  together: () => Promise<T>,
): Promise<T> {
  const watch = inFlight.watchEnds(project_id);
  if (watch === undefined) return await together();
  let hasEnded = true;
  let result: T;
  try {
    result = await apart();
  } finally {
    hasEnded = watch.stop();
  }
  return hasEnded ? await together() : result;
}
