import type { CallScope } from "./call-scope.js";

/**
 * Aggregates calls, with the running ones out of memory: `read` reads the complete ones alone, or both when memory does
 * not have the running ones (`running` is undefined). A call that ends meanwhile may have been read twice or not at all: then, and
 * while calls are ending, both are read together.
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
  const watch = scope.inFlight.watchEnds(scope.project_id);
  if (watch === undefined) return await read();
  let hasEnded = true;
  let result: T;
  try {
    result = add(await read("complete"), running);
  } finally {
    hasEnded = watch.stop();
  }
  return hasEnded ? await read() : result;
}
