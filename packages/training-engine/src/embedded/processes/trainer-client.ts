import { dirname } from "node:path";
import type { EngineError } from "../../engine-error.js";
import type { Trainer } from "../../port.js";
import { removeLeftovers } from "../../weights/partial-directories.js";
import { startChild, type ChildOptions } from "./child.js";
import type { TrainerMethods, TrainerOpening } from "./trainer-protocol.js";
import { aborted } from "./until-aborted.js";

export interface TrainerProcess {
  trainer: Trainer;
  /** Resolves when the process is gone. */
  exited: Promise<EngineError>;
}

/** Starts a process for one trainer and loads its weights there; an abort meanwhile ends the process. */
export async function openTrainerProcess(
  options: Omit<ChildOptions, "entry" | "title" | "niceness">,
  opening: TrainerOpening,
  signal?: AbortSignal,
): Promise<TrainerProcess> {
  if (signal?.aborted) throw aborted();
  // Training gives way to chat: it takes what the sampler and the service leave.
  const child = startChild<TrainerMethods>({
    ...options,
    entry: "trainer-process",
    title: "the training process",
    niceness: 10,
  });
  const giveUp = (): void => void child.close();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await child.call("open", opening);
  } catch (error) {
    await child.close();
    throw signal?.aborted ? aborted() : error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
  const trainer: Trainer = {
    logprobs: (sequences, signal) => child.call("logprobs", sequences, { signal }),
    accumulate: (objective, { entropy, signal, onProgress } = {}) =>
      child.call("accumulate", { objective, entropy }, { signal, onEvent: onProgress }),
    apply: (settings) => child.call("apply", settings),
    async save(directory, { optimizer } = {}) {
      try {
        return await child.call("save", { directory, optimizer });
      } catch (error) {
        // A process that was killed meanwhile has left what it had written under a temporary name.
        if (child.ended) await removeLeftovers(dirname(directory)).catch(() => undefined);
        throw error;
      }
    },
    close: () => child.close(),
  };
  return { trainer, exited: child.exited };
}
