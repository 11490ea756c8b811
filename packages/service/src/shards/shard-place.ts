import type { TraceStore } from "@heddle/trace-store";
import { ChangeSignal } from "../replicas/change-signal.js";

/** Where a shard is worked on now. */
export type Place =
  | { store: TraceStore }
  | { url: URL; replaced: AbortSignal }
  /** Nobody works on it yet, or its holder takes nothing from replicas. */
  | undefined;

/** Follows where a shard is worked on, as this replica knows. */
export class ShardPlace {
  readonly name: string;
  #place: Place;
  #replaced = new AbortController();
  #running = 0;
  readonly #changes = new ChangeSignal();
  /** From when this replica had the lease until it worked on it, the last time. */
  takeoverSeconds: number | undefined;
  #idle = () => {};

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

  /** Another replica has it, or nobody; what was sent to the one before, and has no response, gets none any more. */
  isAt(address: string | undefined): void {
    this.#replaced.abort();
    this.#replaced = new AbortController();
    const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
    this.#change(url && { url, replaced: this.#replaced.signal });
  }

  /** This replica works on it from now on; it has its lease since `leasedAt`, of the monotonic clock. */
  isHere(store: TraceStore, leasedAt: number): void {
    this.#replaced.abort();
    this.takeoverSeconds = (performance.now() - leasedAt) / 1000;
    this.#change({ store });
  }

  /** Runs something on the store of this replica, which is not closed before it has ended. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const end = this.begin();
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** The same for work that has no one function; to be called when it has ended. */
  begin(): () => void {
    this.#running += 1;
    return () => {
      this.#running -= 1;
      if (this.#running === 0) this.#idle();
    };
  }

  /** Begins nothing more here; resolves when what runs has ended, or after `ms`. */
  async leave(ms: number): Promise<void> {
    this.isAt(undefined);
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#idle = () => {
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
