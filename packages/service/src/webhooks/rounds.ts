import { setTimeout as delay } from "node:timers/promises";

/** Work in rounds, one after another with a pause in between, until it is stopped. */
export class Rounds {
  readonly #round: (signal: AbortSignal) => Promise<number>;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /** `round` does not reject, ends soon once its signal is aborted, and returns the pause before the next one in milliseconds. */
  constructor(round: (signal: AbortSignal) => Promise<number>) {
    this.#round = round;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves when the round that runs has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const pauseMs = await this.#round(signal);
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
