import { HeddleError } from "@heddle/errors";

/** Who takes a part of a capacity. */
export interface Sharer {
  key: string;
  entity: string;
}

export interface FairShareOptions {
  /** What all together may hold. */
  capacity: number;
  /** What one key and what all keys of one entity may hold. Default: everything. */
  perKey?: number | undefined;
  perEntity?: number | undefined;
  /** Why a request is refused: its key, its entity, or all together hold what they may. */
  messages: Readonly<Record<Scope, string>>;
  /** How long a request waits, in milliseconds. Default 10,000. */
  timeoutMs?: number;
  /** Requests of one key that wait, each of which costs memory, too. Default 1,000. */
  waitingPerKey?: number;
}

/** What is taken of a capacity at the moment. */
export interface ShareLoad {
  capacity: number;
  held: number;
  /** Requests that wait. */
  waiting: number;
}

/** Returns what was taken; further calls do nothing. */
export type Release = () => void;

type Scope = "key" | "entity" | "all";

interface Waiting {
  sharer: Sharer | undefined;
  amount: number;
  priority: number;
  grant: () => void;
}

const defaultTimeoutMs = 10_000;
const defaultWaitingPerKey = 1000;

/**
 * A capacity that keys and entities share: slots, or bytes. Nobody holds more than a share, so that something is left
 * for the others however long it is held, and what becomes free goes to whoever holds the least. Without a sharer only
 * the capacity counts.
 */
export class FairShare {
  readonly #capacity: number;
  readonly #perKey: number;
  readonly #perEntity: number;
  readonly #messages: FairShareOptions["messages"];
  readonly #timeoutMs: number;
  readonly #maxWaitingPerKey: number;
  #held = 0;
  readonly #heldByKey = new Map<string, number>();
  readonly #heldByEntity = new Map<string, number>();
  readonly #waitingByKey = new Map<string, number>();
  /** In order of arrival. */
  readonly #waiting = new Set<Waiting>();

  constructor({ capacity, perKey, perEntity, messages, timeoutMs, waitingPerKey }: FairShareOptions) {
    this.#capacity = capacity;
    this.#perEntity = Math.min(perEntity ?? capacity, capacity);
    this.#perKey = Math.min(perKey ?? capacity, this.#perEntity);
    this.#messages = messages;
    this.#timeoutMs = timeoutMs ?? defaultTimeoutMs;
    this.#maxWaitingPerKey = waitingPerKey ?? defaultWaitingPerKey;
  }

  get load(): ShareLoad {
    return { capacity: this.#capacity, held: this.#held, waiting: this.#waiting.size };
  }

  /** What all keys of the entity of a sharer hold. */
  heldByEntity({ entity }: Sharer): number {
    return this.#heldByEntity.get(entity) ?? 0;
  }

  /** What one key may hold at most. */
  get perKey(): number {
    return this.#perKey;
  }

  /**
   * Takes `amount`, at most the share of a key, as soon as it is free. Throws `rate_limited` when the key or its entity
   * held its share for too long, `busy` when all together did, and the signal's reason when that aborts. Of the requests
   * of one key, those with a lower `priority` come first.
   */
  async acquire(sharer: Sharer | undefined, amount: number, signal?: AbortSignal, priority = 0): Promise<Release> {
    signal?.throwIfAborted();
    const taken = Math.min(amount, sharer === undefined ? this.#capacity : this.#perKey);
    if (this.#blockedBy(sharer, taken) === undefined && !this.#someoneIsNext()) return this.#taken(sharer, taken);
    await this.#wait(sharer, taken, { signal, priority });
    return this.#releaseOf(sharer, taken);
  }

  /** Takes `amount` if it is free now; undefined otherwise. */
  tryAcquire(sharer: Sharer | undefined, amount: number): Release | undefined {
    if (this.#blockedBy(sharer, amount) !== undefined || this.#someoneIsNext()) return undefined;
    return this.#taken(sharer, amount);
  }

  async #wait(
    sharer: Sharer | undefined,
    amount: number,
    { signal, priority }: { signal: AbortSignal | undefined; priority: number },
  ): Promise<void> {
    if (sharer !== undefined && (this.#waitingByKey.get(sharer.key) ?? 0) >= this.#maxWaitingPerKey) {
      throw new HeddleError("rate_limited", this.#messages.key);
    }
    const waiting: Waiting = { sharer, amount, priority, grant: () => {} };
    this.#waiting.add(waiting);
    if (sharer !== undefined) add(this.#waitingByKey, sharer.key, 1);
    let timer: NodeJS.Timeout | undefined;
    let aborted = () => {};
    try {
      await new Promise<void>((resolve, reject) => {
        waiting.grant = resolve;
        timer = setTimeout(() => reject(this.#refusal(sharer, amount)), this.#timeoutMs);
        aborted = () => reject(signal?.reason as Error);
        signal?.addEventListener("abort", aborted, { once: true });
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
      if (sharer !== undefined) add(this.#waitingByKey, sharer.key, -1);
      // One that leaves may have kept others from what is free.
      if (this.#waiting.delete(waiting)) this.#grantFree();
    }
  }

  /** Gives what is free to those that wait: first to the entity, and in it to the key, that holds the least. */
  #grantFree(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      if (this.#held + next.amount > this.#capacity) return;
      this.#waiting.delete(next);
      this.#take(next.sharer, next.amount);
      next.grant();
    }
  }

  #someoneIsNext(): boolean {
    return this.#waiting.size > 0 && this.#next() !== undefined;
  }

  /** The next one in turn among those whose own shares are not used up. */
  #next(): Waiting | undefined {
    let best: Waiting | undefined;
    let [bestEntity, bestKey] = [0, 0];
    for (const waiting of this.#waiting) {
      const scope = this.#blockedBy(waiting.sharer, waiting.amount);
      if (scope === "key" || scope === "entity") continue;
      const entity = this.#heldByEntity.get(waiting.sharer?.entity ?? "") ?? 0;
      const key = this.#heldByKey.get(waiting.sharer?.key ?? "") ?? 0;
      if (best !== undefined && (entity > bestEntity || (entity === bestEntity && key >= bestKey))) {
        if (best.sharer?.key !== waiting.sharer?.key || best.priority <= waiting.priority) continue;
      }
      [best, bestEntity, bestKey] = [waiting, entity, key];
    }
    return best;
  }

  #blockedBy(sharer: Sharer | undefined, amount: number): Scope | undefined {
    if (sharer !== undefined) {
      if ((this.#heldByKey.get(sharer.key) ?? 0) + amount > this.#perKey) return "key";
      if ((this.#heldByEntity.get(sharer.entity) ?? 0) + amount > this.#perEntity) return "entity";
    }
    return this.#held + amount > this.#capacity ? "all" : undefined;
  }

  #refusal(sharer: Sharer | undefined, amount: number): HeddleError {
    const scope = this.#blockedBy(sharer, amount) ?? "all";
    return new HeddleError(scope === "all" ? "busy" : "rate_limited", this.#messages[scope]);
  }

  #taken(sharer: Sharer | undefined, amount: number): Release {
    this.#take(sharer, amount);
    return this.#releaseOf(sharer, amount);
  }

  #releaseOf(sharer: Sharer | undefined, amount: number): Release {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#take(sharer, -amount);
      this.#grantFree();
    };
  }

  #take(sharer: Sharer | undefined, amount: number): void {
    this.#held += amount;
    if (sharer === undefined) return;
    add(this.#heldByKey, sharer.key, amount);
    add(this.#heldByEntity, sharer.entity, amount);
  }
}

function add(counts: Map<string, number>, name: string, amount: number): void {
  const count = (counts.get(name) ?? 0) + amount;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
