import { HeddleError } from "@heddle/errors";
import type { Limits } from "../config/config.js";

/** Memory that the data of one training job may take in the service while it runs. */
export const trainingDataBytes = ({ workingMemoryBytes }: Limits): number => 2 * workingMemoryBytes;

/** Adds up what the data of one training job take in memory. */
export class TrainingDataLimit {
  readonly #most: number;
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Throws `too_large`. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#most) return;
    throw new HeddleError(
      "too_large",
      `The data of one training job take at most ${this.#most} bytes of memory (twice HEDDLE_WORKING_MEMORY)`,
    );
  }
}
