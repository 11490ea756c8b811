import type { TraceStore } from "@heddle/trace-store";
import { ChangeSignal } from "../replicas/change-signal.js";

/**
 * Time for what has begun, when another replica is to have a shard: writes wait for that one meanwhile, and a read
 * that has given nothing in this time is made there.
 */
export const leaving = { readMs: 400, writeMs: 4000 };

/** By which this replica has a shard. */
export interface AgingLease {
  /** Milliseconds since it was last renewed. */
  ageMs(): number;
}

/** Where a shard is worked on now. */
export type Place =
  | { store: TraceStore; lease: AgingLease }
  | { url: URL; replaced: AbortSignal }
  /** Nobody works on it yet, or its holder takes nothing from replicas. */
  | undefined;

/** Follows where a shard is worked on, as this replica knows. */
export class ShardPlace {
  readonly name: string;
  #place: Place;
  #replaced = new AbortController();
  readonly #running = { reads: 0, writes: 0 };
  readonly #changes = new ChangeSignal();
  /** From when this replica had the lease until it worked on it, the last time. */
  takeoverSeconds: number | undefined;
  /** Called whenever something has ended. */
  #ended = () => {};

  constructor(name: string) {
    this.name = name;
  }

  get now(): Place {
    return this.#place;
  }

  /** The store, where this replica works on the shard. */
  get own(): TraceStore | undefined {
    return this.#place !== undefined && "store" in this.#place ? this.#place.store : undefined;
  }

  /** How long ago the lease of this replica was renewed; undefined where it has none. */
  get leaseAgeSeconds(): number | undefined {
    return this.#place !== undefined && "lease" in this.#place ? this.#place.lease.ageMs() / 1000 : undefined;
  }

  /** Another replica has it, or nobody; what was sent to the one before, and has no response, gets none any more. */
  isAt(address: string | undefined): void {
    this.#replaced.abort();
    this.#replaced = new AbortController();
    const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
    this.#change(url && { url, replaced: this.#replaced.signal });
  }

  /** This replica works on it from now on; it has its lease since `leasedAt`, of the monotonic clock. */
  isHere(store: TraceStore, lease: AgingLease, leasedAt: number): void {
    this.#replaced.abort();
    this.takeoverSeconds = (performance.now() - leasedAt) / 1000;
    this.#change({ store, lease });
  }

  /** Something begins on the store of this replica, which is not closed before it has ended. The result is then called. */
  begin({ isRead }: { isRead: boolean }): () => void {
    const kind = isRead ? "reads" : "writes";
    this.#running[kind] += 1;
    return () => {
      this.#running[kind] -= 1;
      this.#ended();
    };
  }

  /**
   * Begins nothing more here; resolves when what runs has ended. Reads get so many milliseconds, and so do writes: who sent one
   * that is cut off cannot know whether it is stored.
   */
  async leave(most: { readMs: number; writeMs: number }): Promise<void> {
    this.isAt(undefined);
    const running = this.#running;
    await this.#until(() => running.reads + running.writes === 0, most.readMs);
    await this.#until(() => running.writes === 0, most.writeMs - most.readMs);
  }

  async #until(isDone: () => boolean, ms: number): Promise<void> {
    if (isDone() || ms <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#ended = () => {
        if (!isDone()) return;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Resolves when it is elsewhere, or after `ms`. */
  async changed(ms: number): Promise<void> {
    await this.#changes.wait(ms);
  }

  /** Lets those who wait for a change look again. */
  wake(): void {
    this.#changes.changed();
  }

  #change(place: Place): void {
    this.#place = place;
    this.#changes.changed();
  }
}
