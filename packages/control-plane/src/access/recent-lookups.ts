import { msSince } from "../moment.js";
import type { Moment } from "../moment.js";

/** How long something that another process has ended may still be accepted. */
const keptMs = 1000;
const mostKept = 1000;
/** How often the last use of a key or session is stored, in microseconds. */
const useInterval = 600_000_000n;

/** Whether a last use is so recent that this one need not be stored; not one from a clock that was ahead then. */
export function isRecentUse(lastUsedAt: bigint, time: bigint): boolean {
  return lastUsedAt <= time && time - lastUsedAt < useInterval;
}

/** Remembers for a second what was found in the database, so that not every request looks it up. */
export class RecentLookups<Value> {
  #known = new Map<string, { value: Value; at: Moment }>();
  readonly #now: () => bigint;

  /** `now` in microseconds since 1970. */
  constructor(now: () => bigint) {
    this.#now = now;
  }

  /** Looks it up unless it is remembered. `keep` says whether what was found is remembered. */
  async get(name: string, look: () => Promise<Value>, keep: (value: Value) => boolean): Promise<Value> {
    const at = { monotonic: performance.now(), wall: Number(this.#now() / 1000n) };
    const known = this.#known.get(name);
    if (known !== undefined && msSince(known.at, at.wall) < keptMs) return known.value;
    // A lookup that is under way when all is forgotten remembers what it finds in the old map.
    const current = this.#known;
    current.delete(name);
    const value = await look();
    if (!keep(value)) return value;
    if (current.size >= mostKept) current.clear();
    current.set(name, { value, at });
    return value;
  }

  /** Looks everything up anew, also where that is under way. */
  forget(): void {
    this.#known = new Map();
  }
}
