import { dirname } from "node:path";
import type { HeddleError } from "@heddle/errors";
import type { Trainer, WeightsRef } from "@heddle/training";
import { removeLeftovers } from "../weights/partial-directories.js";
import type { ChildOptions } from "./child.js";
import { openChild } from "./open-child.js";
import type { TrainerMethods, TrainerOpening } from "./trainer-protocol.js";

export interface TrainerProcess {
  trainer: Trainer;
  /** Resolves when the process has exited. */
  exited: Promise<HeddleError>;
}

/** Starts a process for one trainer and loads its weights there. An abort in the meantime ends the process. */
export async function openTrainerProcess(
  options: Omit<ChildOptions, "entry" | "title" | "niceness">,
  opening: TrainerOpening,
  signal: AbortSignal,
): Promise<TrainerProcess> {
  // Training has a lower priority than sampling and the service.
  const child = await openChild<TrainerOpening, TrainerMethods>(
    { ...options, entry: "trainer", title: "the training process", niceness: 10 },
    opening,
    signal,
  );
  async function save(directory: string, optimizer: boolean): Promise<WeightsRef> {
    try {
      return await child.call("save", { directory, optimizer });
    } catch (error) {
      // A killed process leaves a partial directory under a temporary name.
      if (child.ended) await removeLeftovers(dirname(directory)).catch(() => undefined);
      throw error;
    }
  }

  const trainer: Trainer = {
    logprobs: (sequences, signal) => child.call("logprobs", sequences, { signal }),
    forwardBackward: (objective, { entropy, signal, onProgress } = {}) =>
      child.call("forwardBackward", { objective, entropy }, { signal, onEvent: onProgress }),
    optimStep: (settings) => child.call("optimStep", settings),
    saveState: (directory) => save(directory, true),
    exportWeights: (directory, { state = false } = {}) => save(directory, state),
    close: () => child.close(),
  };
  return { trainer, exited: child.exited };
}
