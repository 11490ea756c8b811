import { FairQueue } from "./fair-queue.js";
import type { Turn } from "./fair-queue.js";
import type { Sharer } from "./fair-share.js";

/** After work of more than this, others have the thread for as long as it took, but at most for `longestRestMs`. */
const shortMs = 8;
const longestRestMs = 100;
/** For so long after somebody else's request arrived, an entity has the thread for half of the time at most. */
const recentMs = 250;

interface Time {
  /** Milliseconds. */
  now: () => number;
  after: (callback: () => void, ms: number) => NodeJS.Timeout;
}

/** What follows a slice: for so long only others have the thread. */
interface Rest {
  /** When it began, and for how long: never longer, whatever the clock does. */
  since: number;
  ms: number;
  /** Whose slice it was, if slices of others need not wait. */
  entity?: string | undefined;
}

/**
 * The main thread, for work that takes milliseconds of it. Whoever works gives way every few milliseconds: in each
 * iteration of the event loop one goes on, of whoever has used the least time. What is not such work, as reading a request
 * or sending a response, comes in between and waits for one slice at most, however many there are. It takes many iterations:
 * so while others have sent requests, each slice is followed by as much time without one of the same entity.
 */
export class MainThread {
  readonly #time: Time;
  #sharer: () => Sharer | undefined = () => undefined;
  readonly #waiting = new FairQueue<{ entity: string | undefined; resume: () => void }>();
  #isAwaited = false;
  #rest: Rest = { since: 0, ms: 0 };
  #restTimer: NodeJS.Timeout | undefined;
  /** Whose request arrived last, and when one of another entity did. */
  #last = { entity: "", at: -Infinity };
  #lastOfOthers = -Infinity;

  /** Tests have a time of their own. */
  constructor(time: Time = { now: () => performance.now(), after: setTimeout }) {
    this.#time = time;
  }

  /** Says how to find out for whom the running code works. */
  findSharerBy(current: () => Sharer | undefined): void {
    this.#sharer = current;
  }

  /** For whom the running code works. */
  get sharer(): Sharer | undefined {
    return this.#sharer();
  }

  /** Notes that a request arrived, which the work of others should not hold up. */
  arrived({ entity }: Sharer): void {
    if (entity !== this.#last.entity) this.#lastOfOthers = this.#last.at;
    this.#last = { entity, at: this.#time.now() };
  }

  /** Resolves when the work of the running code, or of `sharer`, may go on. */
  async giveWay(sharer = this.sharer): Promise<void> {
    await new Promise<void>((resume) => {
      this.#waiting.add(sharer, { entity: sharer?.entity, resume });
      this.#await();
    });
  }

  #await(): void {
    if (this.#isAwaited && this.#restTimer === undefined) return;
    this.#isAwaited = true;
    const ms = this.#restLeft();
    if (ms > 0) {
      this.#restTimer ??= this.#time.after(() => this.#next(), ms);
    } else {
      clearTimeout(this.#restTimer);
      this.#next();
    }
  }

  #restLeft(): number {
    const { since, ms, entity } = this.#rest;
    if (entity !== undefined && this.#waiting.waitsBesides(entity)) return 0;
    return ms - Math.max(0, this.#time.now() - since);
  }

  /** What a callback resolves runs before the next callback of the same iteration, which so knows how long it took. */
  #next(): void {
    this.#restTimer = undefined;
    let turn: Turn<{ entity: string | undefined; resume: () => void }> | undefined;
    let began = 0;
    setImmediate(() => {
      began = this.#time.now();
      turn = this.#waiting.take();
      turn?.item.resume();
    });
    setImmediate(() => {
      const now = this.#time.now();
      const ms = now - began;
      turn?.end(ms);
      this.#rest = this.#restAfter(turn?.item.entity, ms, now);
      this.#isAwaited = false;
      if (this.#waiting.waiting > 0) this.#await();
    });
  }

  #restAfter(entity: string | undefined, ms: number, now: number): Rest {
    if (ms > shortMs) return { since: now, ms: Math.min(ms, longestRestMs) };
    const others = this.#last.entity === entity ? this.#lastOfOthers : this.#last.at;
    return { since: now, ms: entity !== undefined && now - others < recentMs ? ms : 0, entity };
  }
}

/** Of the process. */
export const mainThread = new MainThread();
