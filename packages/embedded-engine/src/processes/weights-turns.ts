import { mutex, withTimeout } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { GenerateRequest } from "@heddle/training";

export type Sharer = NonNullable<GenerateRequest["sharer"]>;

export interface WeightsMemory {
  readonly budgetBytes: number;
  /** Returns the bytes of weights that the requests of a key or of an entity use: of all, or of those that no others use. */
  usedBy(share: keyof Sharer, name: string, alone: boolean): number;
  /** Takes bytes, dropping weights that nobody uses. Returns false if too little is free then. */
  take(bytes: number): Promise<boolean>;
  giveBack(bytes: number): void;
}

interface Waiting {
  /** Returns who wants the weights. */
  sharers: () => readonly Sharer[];
  bytes: number;
  since: number;
  grant: () => void;
}

/** Time after which a request waits no longer for weights that others keep in use. */
const longestWaitMs = 120_000;
/** Requests on loaded weights wait for one that has waited this long, whoever sends them. */
const graceMs = 20_000;
/** Parts of the memory that weights which only one key, or one entity, uses take at most; a first model may take more. */
const shares = { key: 1 / 2, entity: 3 / 4 };

/**
 * The order in which sharers load weights when the memory is too small for all: first the entity, and in it the key, that
 * uses the fewest bytes. While one waits, those that use more start nothing new on their weights, so that
 * these become free.
 */
export class WeightsTurns {
  readonly #memory: WeightsMemory;
  readonly #waiting = new Set<Waiting>();
  readonly #yielding = new Set<() => void>();
  readonly #runExclusive = mutex();

  constructor(memory: WeightsMemory) {
    this.#memory = memory;
  }

  /** Takes bytes when it is the turn of one of those who want them. Throws `busy` after a long wait. */
  async take(sharers: Waiting["sharers"], bytes: number): Promise<void> {
    let grant = () => {};
    const granted = new Promise<void>((resolve) => (grant = resolve));
    const waiting: Waiting = { sharers, bytes, since: performance.now(), grant };
    this.#waiting.add(waiting);
    this.changed();
    try {
      await withTimeout(granted, longestWaitMs, () => {
        const text = `the weights need ${bytes} bytes of ${this.#memory.budgetBytes}; others are in use`;
        return new HeddleError("busy", text);
      });
    } catch (error) {
      this.#waiting.delete(waiting);
      this.changed();
      throw error;
    }
  }

  /** Resolves when a request on loaded weights may start. */
  async yield(sharer: Sharer | undefined): Promise<void> {
    if (!sharer) return;
    const until = performance.now() + longestWaitMs;
    while (this.#hasToWait(sharer) && performance.now() < until) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#yielding.add(resolve);
        timer = setTimeout(resolve, graceMs).unref();
      });
      clearTimeout(timer);
    }
  }

  /** To be called when weights are no longer in use, and when somebody else wants those that are waited for. */
  changed(): void {
    if (this.#waiting.size > 0) void this.#runExclusive(() => this.#grantFree());
    for (const wake of this.#yielding) wake();
    this.#yielding.clear();
  }

  async #grantFree(): Promise<void> {
    for (let next = this.#next(); next; next = this.#next()) {
      const { waiting } = next;
      if (!(await this.#memory.take(waiting.bytes))) return;
      if (this.#waiting.delete(waiting)) waiting.grant();
      else this.#memory.giveBack(waiting.bytes);
    }
  }

  #next(): { waiting: Waiting; sharer: Sharer } | undefined {
    const all = [...this.#waiting].flatMap((waiting) => waiting.sharers().map((sharer) => ({ waiting, sharer })));
    const within = all.filter(({ waiting, sharer }) => this.#mayLoad(sharer, waiting.bytes));
    return within.toSorted((a, b) => this.#compare(a.sharer, b.sharer) || a.waiting.since - b.waiting.since)[0];
  }

  #compare(a: Sharer, b: Sharer): number {
    const used = (sharer: Sharer, share: keyof Sharer) => this.#memory.usedBy(share, sharer[share], false);
    const difference = (share: keyof Sharer) => used(a, share) - used(b, share);
    return difference("entity") || difference("key");
  }

  #mayLoad(sharer: Sharer, bytes: number): boolean {
    return (["key", "entity"] as const).every((share) => {
      const held = this.#memory.usedBy(share, sharer[share], true);
      return held === 0 || held + bytes <= this.#memory.budgetBytes * shares[share];
    });
  }

  #hasToWait(sharer: Sharer): boolean {
    const next = this.#next();
    if (!next || next.sharer.key === sharer.key) return false;
    return this.#compare(sharer, next.sharer) > 0 || performance.now() - next.waiting.since > graceMs;
  }
}
