import { integerOf, textOf } from "../database/database.js";
import type { Row } from "../database/database.js";

/** A claim, and how often it was renewed. */
export interface LeaseBeat {
  id: string;
  lease_token: string;
  beat: bigint;
}

export const beatOf = (row: Row): LeaseBeat => ({
  id: textOf(row, "id"),
  lease_token: textOf(row, "lease_token"),
  beat: integerOf(row, "beat"),
});

interface Sighting extends LeaseBeat {
  /** When it was seen first, in milliseconds of the monotonic clock. */
  since: number;
}

/**
 * Watches the claims of jobs. No clocks are compared: who has a job counts upwards, and everybody else measures on a
 * monotonic clock of his own for how long the count stays the same.
 */
export class LeaseWatch {
  readonly #monotonic: () => number;
  #seen = new Map<string, Sighting>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Notes a claim that was made or renewed now. */
  note(beat: LeaseBeat): void {
    this.#seen.set(beat.id, { ...beat, since: this.#monotonic() });
  }

  /** Given the claims of all jobs that run: those that were not renewed for so long. */
  ended(running: readonly LeaseBeat[], leaseUs: bigint): LeaseBeat[] {
    const before = this.#seen;
    this.#seen = new Map();
    const now = this.#monotonic();
    for (const beat of running) {
      const seen = before.get(beat.id);
      const isSame = seen?.lease_token === beat.lease_token && seen.beat === beat.beat;
      this.#seen.set(beat.id, isSame ? seen : { ...beat, since: now });
    }
    return [...this.#seen.values()].filter(({ since }) => now - since >= millisecondsOf(leaseUs));
  }

  /** Milliseconds until the first of the claims ends that is not renewed; undefined without one. */
  msToEnd(running: readonly LeaseBeat[], leaseUs: bigint): number | undefined {
    const now = this.#monotonic();
    const since = running.map(({ id }) => this.#seen.get(id)?.since ?? now);
    return since.length === 0 ? undefined : Math.max(0, Math.min(...since) + millisecondsOf(leaseUs) - now);
  }
}

const millisecondsOf = (microseconds: bigint): number => Number(microseconds) / 1000;
