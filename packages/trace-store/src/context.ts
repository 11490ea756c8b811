import type { Engine } from "./engine/engine.js";
import type { VersionClock } from "./version-clock.js";

/** What every group of the store works with. */
export interface StoreContext {
  engine: Engine;
  clock: VersionClock;
  /** Microseconds since 1970. */
  now: () => bigint;
}
