import type { HeddleError } from "@heddle/errors";

/** Computing time that the tasks of one job may take together. */
export class ComputingBudget {
  readonly #exceeded: () => HeddleError;
  #leftMs: number;

  /** `exceeded` makes the error of tasks that begin after the time was used up. */
  constructor(ms: number, exceeded: () => HeddleError) {
    this.#leftMs = ms;
    this.#exceeded = exceeded;
  }

  spend(ms: number): void {
    this.#leftMs -= ms;
  }

  /** Throws when the time is used up. */
  check(): void {
    if (this.#leftMs <= 0) throw this.#exceeded();
  }
}
