import type { ChangeHub } from "./changes/change-hub.js";
import type { Engine } from "./engine/engine.js";
import type { OpenWrites } from "./open-writes.js";
import type { VersionClock } from "./version-clock.js";

/** What every group of the store works with. */
export interface StoreContext {
  engine: Engine;
  /** For inserts, and for what they look up before: reads that hold all slots do not hold back writes. */
  writes: Engine;
  /** For writes that exclude each other, whichever key they come from. */
  commits: Engine;
  clock: VersionClock;
  /** Every change of calls and feedback is noted here. */
  openWrites: OpenWrites;
  /** Aborted when the store closes. */
  closing: AbortSignal;
  /** And published here, once it can be read. */
  changes: ChangeHub;
  /** Microseconds since 1970. */
  now: () => bigint;
}

/**
 * Called with the number of bytes that a read is about to hold; rejects when the reader may not have them. The release
 * is called when the read has passed them on, and never where they belong to the result.
 */
export type Reserve = (bytes: number) => Promise<() => void>;

export interface ReadOptions {
  signal?: AbortSignal;
  /** Default: everything is permitted. */
  reserve?: Reserve;
}
