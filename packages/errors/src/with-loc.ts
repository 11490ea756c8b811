import type { Loc } from "./heddle-error.js";
import { mapErrors } from "./map-errors.js";

/**
 * Runs a function whose argument is the caller's own at `prefix`: the locs of its errors, thrown or rejected with, are
 * then relative to the caller's. A stream that the function returns is not covered.
 *
 * ```ts
 * await withLoc(["obj"], () => store.objects.create(body.obj)); // loc ["val"] becomes ["obj", "val"]
 * ```
 */
export function withLoc<T>(prefix: Loc, run: () => T): T {
  return mapErrors((error) => error.within(prefix), run);
}
