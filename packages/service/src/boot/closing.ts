/** What has to be closed, in the opposite order of its opening. */
export class Closing {
  readonly #steps: (() => Promise<unknown> | void)[] = [];

  add(step: () => Promise<unknown> | void): void {
    this.#steps.push(step);
  }

  /** What was added is closed by something else. */
  clear(): void {
    this.#steps.length = 0;
  }

  async close(): Promise<void> {
    for (const step of this.#steps.splice(0).toReversed()) await step();
  }
}
