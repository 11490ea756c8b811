import { KeyTable } from "./key-table.js";

/**
 * Every stored complete call that started at or after the horizon, and those before it that were stored since the start:
 * key → started_at. Present means stored, whatever time a part carries. Absent proves a call new only when it started after
 * the horizon.
 *
 * Bounded by bytes: when it is full the calls that started first are forgotten and the horizon rises past them.
 */
export class KnownCalls {
  readonly #table = new KeyTable();
  readonly #capacity: number;
  #horizon: bigint;

  constructor(limitBytes: number, horizon: bigint) {
    this.#capacity = KeyTable.capacityOf(limitBytes);
    this.#horizon = horizon;
  }

  get size(): number {
    return this.#table.size;
  }
  get bytes(): number {
    return this.#table.bytes;
  }
  /** How many calls it remembers at most. */
  get capacity(): number {
    return this.#capacity;
  }
  get horizon(): bigint {
    return this.#horizon;
  }

  startedAt(key: string): bigint | undefined {
    return this.#table.time(key);
  }

  /** True when a call that is not here cannot be stored either. */
  provesNew(startedAt: bigint | undefined): boolean {
    return startedAt !== undefined && startedAt > this.#horizon;
  }

  add(key: string, startedAt: bigint): void {
    this.#table.set(key, startedAt);
    if (this.#table.size > this.#capacity) this.forgetOldest();
  }

  delete(key: string): void {
    this.#table.delete(key);
  }

  /** Forgets about a quarter. */
  forgetOldest(): void {
    let horizon = this.#table.quantile(0.25);
    const before = this.#table.size;
    this.#table.dropBefore(horizon);
    if (this.#table.size === before) {
      // All of the first quarter started in one microsecond.
      horizon += 1n;
      this.#table.dropBefore(horizon);
    }
    this.#horizon = horizon > this.#horizon ? horizon : this.#horizon;
  }
}
