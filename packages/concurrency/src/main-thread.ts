import { FairQueue } from "./fair-queue.js";
import type { Turn } from "./fair-queue.js";
import type { Sharer } from "./fair-share.js";

/** After work of more than this, others have the thread for as long as it took, but at most for `longestRestMs`. */
const shortMs = 8;
const longestRestMs = 100;

/**
 * The main thread, for work that takes milliseconds of it. Whoever works gives way every few milliseconds: in each
 * iteration of the event loop one goes on, of whoever has used the least time. What is not such work, as reading a request
 * or sending a response, comes in between and waits for one slice at most, however many there are.
 */
class MainThread {
  #sharer: () => Sharer | undefined = () => undefined;
  readonly #waiting = new FairQueue<() => void>();
  #isAwaited = false;
  /** When others got the thread, by `performance.now()`, and for how long: never longer, whatever the clock does. */
  #restsSince = 0;
  #restMs = 0;

  /** Says how to find out for whom the running code works. */
  findSharerBy(current: () => Sharer | undefined): void {
    this.#sharer = current;
  }

  /** For whom the running code works. */
  get sharer(): Sharer | undefined {
    return this.#sharer();
  }

  /** Resolves when the work of the running code, or of `sharer`, may go on. */
  async giveWay(sharer = this.sharer): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiting.add(sharer, resolve);
      this.#await();
    });
  }

  #await(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    const restMs = this.#restMs - Math.max(0, performance.now() - this.#restsSince);
    if (restMs > 0) setTimeout(() => this.#next(), restMs);
    else this.#next();
  }

  /** What a callback resolves runs before the next callback of the same iteration, which so knows how long it took. */
  #next(): void {
    let turn: Turn<() => void> | undefined;
    let began = 0;
    setImmediate(() => {
      began = performance.now();
      turn = this.#waiting.take();
      turn?.item();
    });
    setImmediate(() => {
      const now = performance.now();
      const ms = now - began;
      turn?.end(ms);
      this.#restsSince = now;
      this.#restMs = ms > shortMs ? Math.min(ms, longestRestMs) : 0;
      this.#isAwaited = false;
      if (this.#waiting.waiting > 0) this.#await();
    });
  }
}

/** Of the process. */
export const mainThread = new MainThread();
