import type { CallScope } from "./visible-calls.js";

/**
 * Reads the complete and the running calls of a project separately, which takes less time than a statement about both. A call that
 * ends meanwhile may have been read twice or not at all: then, and while calls are ending, they are read `together`.
 */
export async function readSeparately<T>(
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

/**
 * Aggregates calls, with the running ones out of memory: `read` reads the complete ones alone, or both when memory does
 * not have the running ones (`running` is undefined) or they have to be read together.
 */
export async function readWithRunning<T, R extends { count: number }>(
  scope: CallScope,
  running: R | undefined,
  read: (only?: "complete") => Promise<T>,
  add: (complete: T, running: R) => T,
): Promise<T> {
  if (running === undefined) return await read();
  // Nothing to add, and nothing that could end.
  if (running.count === 0) return await read("complete");
  return await readSeparately(scope, async () => add(await read("complete"), running), read);
}
