import { HeddleError } from "@heddle/errors";

/** Ends work that makes no progress for a time. */
export class StallWatch {
  readonly #ms: number;
  readonly #abort = new AbortController();
  readonly #stalled: Promise<never>;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
    this.#stalled = new Promise((_resolve, reject) => {
      this.#abort.signal.addEventListener("abort", () => reject(this.#abort.signal.reason));
    });
    this.#stalled.catch(() => undefined);
    this.progress();
  }

  /** Aborts when the work has stalled. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  progress(): void {
    clearTimeout(this.#timer);
    if (this.#abort.signal.aborted) return;
    this.#timer = setTimeout(() => {
      const message = `no progress within ${this.#ms / 1000} s (HEDDLE_TRAINING_STALL)`;
      this.#abort.abort(new HeddleError("failed", message, { details: { error_type: "stalled" } }));
    }, this.#ms);
    this.#timer.unref();
  }

  /** Rejects when the work has stalled, even if it does not end then. */
  async race<T>(work: Promise<T>): Promise<T> {
    try {
      return await Promise.race([work, this.#stalled]);
    } finally {
      clearTimeout(this.#timer);
      work.catch(() => undefined);
    }
  }
}
