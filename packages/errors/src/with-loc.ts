import { HeddleError } from "./heddle-error.js";
import type { Loc } from "./heddle-error.js";

/**
 * Runs a function whose argument is the caller's own at `prefix`: the locs of its errors, thrown or rejected with, are
 * then relative to the caller's. A stream that the function returns is not covered.
 *
 * ```ts
 * await withLoc(["obj"], () => store.objects.create(body.obj)); // loc ["val"] becomes ["obj", "val"]
 * ```
 */
export function withLoc<T>(prefix: Loc, run: () => T): T;
export function withLoc(prefix: Loc, run: () => unknown): unknown {
  try {
    const result = run();
    return result instanceof Promise ? result.catch((error: unknown) => rethrow(error, prefix)) : result;
  } catch (error) {
    return rethrow(error, prefix);
  }
}

function rethrow(error: unknown, prefix: Loc): never {
  throw error instanceof HeddleError ? error.within(prefix) : error;
}
