import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { HeddleError } from "@heddle/errors";
import type { LoraConfig, Trainer, WeightsRef } from "@heddle/training";
import { removeLeftovers } from "../weights/partial-directories.js";
import type { ChildOptions, EngineProcess } from "./child.js";
import { openChild } from "./open-child.js";
import type { CallOptions } from "./pending-calls.js";
import type { TrainerMethods, TrainerOpening } from "./trainer-protocol.js";
import { aborted, untilAborted } from "./until-aborted.js";

/** A process that runs one trainer at a time. */
export interface TrainerProcess {
  /** Opens another trainer after the previous one was closed; see `TrainerMethods`. */
  reopen(trainerOptions: TrainerOpening, signal: AbortSignal): Promise<boolean>;
  /** Returns the trainer that was opened last. `onClose` is called once, when it has been closed. */
  trainer(adapter: LoraConfig | undefined, onClose: (idle: boolean) => Promise<void>): Trainer;
  /** Resolves when the process has exited. */
  exited: Promise<HeddleError>;
  close(): Promise<void>;
}

/** Time for an aborted call to end before it is rejected without waiting for the process. */
const abortMs = 500;
/** Time for the calls of a closing trainer to end before its process is killed. */
const releaseMs = 3000;

/** Starts a process for one trainer and loads its weights there. An abort in the meantime kills the process. */
export async function openTrainerProcess(
  options: Omit<ChildOptions, "entry" | "title" | "niceness">,
  trainerOptions: TrainerOpening,
  signal: AbortSignal,
): Promise<TrainerProcess> {
  // Training has a lower priority than sampling and the service.
  const child = await openChild<TrainerOpening, TrainerMethods>(
    { ...options, entry: "trainer", title: "the training process", niceness: 10 },
    trainerOptions,
    signal,
  );
  return {
    async reopen(next, signal) {
      const kill = (): void => child.kill("its trainer was aborted while it was opened");
      signal.addEventListener("abort", kill, { once: true });
      try {
        return await child.call("reopen", next, { signal });
      } catch (error) {
        throw signal.aborted ? aborted() : error;
      } finally {
        signal.removeEventListener("abort", kill);
      }
    },
    trainer: (adapter, onClose) => trainerOf(child, adapter, onClose),
    exited: child.exited,
    close: () => child.close(),
  };
}

function trainerOf(
  child: EngineProcess<TrainerMethods>,
  adapter: LoraConfig | undefined,
  onClose: (idle: boolean) => Promise<void>,
): Trainer {
  const closing = new AbortController();
  let closed: Promise<void> | undefined;

  async function call<Method extends keyof TrainerMethods>(
    method: Method,
    params: TrainerMethods[Method]["params"],
    { signal, onEvent }: CallOptions<TrainerMethods[Method]["event"]> = {},
  ): Promise<TrainerMethods[Method]["result"]> {
    const either = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal;
    const response = child.call(method, params, { signal: either, onEvent });
    // A graph that is running cannot be stopped. Later calls wait for it in the process.
    const later = signal && delayed(signal);
    try {
      return await untilAborted(response, later?.signal);
    } finally {
      later?.release();
    }
  }

  async function save(params: TrainerMethods["save"]["params"]): Promise<WeightsRef> {
    try {
      return await call("save", params);
    } catch (error) {
      // A killed process leaves a partial directory under a temporary name.
      if (child.ended) await removeLeftovers(dirname(params.directory)).catch(() => undefined);
      throw error;
    }
  }

  async function release(): Promise<void> {
    closing.abort();
    const released = child.call("release", null).then(
      () => true,
      () => false,
    );
    await onClose(await Promise.race([released, delay(releaseMs, false, { ref: false })]));
  }

  return {
    ...(adapter && { adapter }),
    logprobs: (sequences, signal) => call("logprobs", sequences, { signal }),
    forwardBackward: (objective, { entropy, signal, onProgress } = {}) =>
      call("forwardBackward", { objective, entropy }, { signal, onEvent: onProgress }),
    optimStep: (settings) => call("optimStep", settings),
    saveState: (directory) => save({ directory, optimizer: true }),
    exportWeights: (directory, { state, format } = {}) =>
      save({ directory, optimizer: state, dtype: format === "bf16" ? "BF16" : "F32" }),
    close: () => (closed ??= release()),
  };
}

/** Returns a signal that aborts a while after another, until it is released. */
function delayed(signal: AbortSignal): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const abortLater = (): void => void setTimeout(() => controller.abort(), abortMs).unref();
  if (signal.aborted) abortLater();
  else signal.addEventListener("abort", abortLater, { once: true });
  return { signal: controller.signal, release: () => signal.removeEventListener("abort", abortLater) };
}
