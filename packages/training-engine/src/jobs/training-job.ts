import { setImmediate } from "node:timers/promises";
import { EngineError } from "../engine-error.js";
import type { LoraConfig } from "../model/parameters.js";
import type { TrainingEngine, WeightsRef } from "../port.js";

/** What every training job is given, whatever it learns from. */
export interface TrainingJob {
  engine: TrainingEngine;
  /** The weights to go on from; the checkpoint's optimizer state goes on too. */
  from: WeightsRef;
  /** As in `TrainerSpec`. */
  adapter?: LoraConfig;
  /** The checkpoint's moments come from another kind of training: begin with fresh ones. */
  resetOptimizer?: boolean;
  /** Absolute path of the new checkpoint; must not exist. */
  directory: string;
  /**
   * Absolute path for the job's own state; removed when the job has ended, not when it has failed. A job that is run again
   * with the same input and the same work directory goes on where it was interrupted, and ends with the same bits as
   * without the interruption. Absent: an interrupted job begins anew.
   */
  workDirectory?: string;
  /** Optimizer steps between two internal checkpoints in `workDirectory`; default 25. */
  stepsPerCheckpoint?: number;
  /** Decides on every random choice of the job. Unsigned 32 bit. */
  seed: number;
  signal?: AbortSignal;
  /** Awaited, in order: `training_started`, one `gradient_step` for each step, `training_ended` once the checkpoint stands. */
  onEvent: (event: TrainingJobEvent) => void | Promise<void>;
  /** What earlier, interrupted runs of this job have already told: it is not told again. */
  reported?: { started: boolean; gradientSteps: number };
}

/** Numbers are finite. `num_sequences` is the number of `gradient_step` events. */
export type TrainingJobEvent =
  | { type: "training_started"; data: { num_sequences: number } & Record<string, number | string | string[]> }
  | { type: "gradient_step"; data: Record<string, number> }
  | { type: "training_ended"; data: Record<string, number> };

export interface TrainingJobResult {
  /** The new checkpoint. */
  weights: WeightsRef;
  gradientSteps: number;
  trainedTokens: number;
}

/** Lets other work of this process have its turn; throws `aborted` when the job is to end. */
export async function yieldToEventLoop(signal: AbortSignal | undefined): Promise<void> {
  await setImmediate();
  throwIfAborted(signal);
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new EngineError("aborted", "The training job was cancelled.");
}
