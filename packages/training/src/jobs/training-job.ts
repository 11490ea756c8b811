import { mainThread } from "@heddle/concurrency";
import type { SharedWork } from "@heddle/chat-format";
import { HeddleError } from "@heddle/errors";
import type { LoraConfig } from "../lora-config.js";
import type { Trainer, TrainingEngine, WeightsRef } from "../port.js";

/** Input of every training job. */
export interface TrainingJob {
  engine: TrainingEngine;
  /** The weights to start from. A checkpoint's optimizer state is continued. */
  from: WeightsRef;
  /** As in `TrainerSpec`. */
  adapter?: LoraConfig;
  /** Starts with zero moments, because the checkpoint's come from another kind of training. */
  resetOptimizer?: boolean;
  /** Absolute path of the new checkpoint, which must not exist. */
  directory: string;
  /**
   * Absolute path of the job's state. Removed when the job has ended, not when it has failed. A job that runs again
   * with the same input and work directory resumes where it was interrupted, and produces the same bits as without the
   * interruption. Absent: an interrupted job starts over.
   */
  workDirectory?: string;
  /** Number of optimizer steps between internal checkpoints in `workDirectory`. Default 25. */
  stepsPerCheckpoint?: number;
  /** Seed of every random choice of the job. Unsigned 32-bit integer. */
  seed: number;
  signal?: AbortSignal;
  /** For whom its conversations are rendered and tokenized, in threads that all share. */
  sharer?: SharedWork["sharer"];
  /** Called when all is ready for the first step of this run, which each run of an interrupted job repeats. */
  onReady?: () => void;
  /** Called while work goes on that no event reports. */
  onProgress?: () => void;
  /**
   * Asked after each step, and between parts of what comes before. If it returns true, the run saves its state and throws
   * `aborted`, with `details.reason` `paused`; a further run goes on as after an interruption. Needs `workDirectory`.
   */
  shouldPause?: () => boolean;
  /** Called with the trainer of the new checkpoint before it is closed; not by a run that finds the checkpoint complete. */
  onTrained?: (trainer: Trainer) => Promise<void>;
  /**
   * Receives the events in order: `training_started`, one `gradient_step` per step, `training_ended` after the
   * checkpoint is written. Each call is awaited.
   */
  onEvent: (event: TrainingJobEvent) => void | Promise<void>;
  /** Events that earlier, interrupted runs of this job have reported; they are not reported again. */
  reported?: { started: boolean; gradientSteps: number };
}

/**
 * Events of a job. Numbers are finite. `num_sequences` is the number of `gradient_step` events, of which there are fewer
 * when the training ends early.
 */
export type TrainingJobEvent =
  | { type: "training_started"; data: { num_sequences: number } & Record<string, number | string | string[]> }
  | { type: "gradient_step"; data: Record<string, number>; warning?: string }
  | { type: "training_ended"; data: Record<string, number> };

export interface TrainingJobResult {
  /** Reference to the new checkpoint. */
  weights: WeightsRef;
  gradientSteps: number;
  trainedTokens: number;
}

/** Gives way to others. Throws `aborted` if the job has been cancelled. */
export async function yieldToEventLoop(signal: AbortSignal | undefined): Promise<void> {
  await mainThread.giveWay();
  throwIfAborted(signal);
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new HeddleError("aborted", "The training job was cancelled.");
}

/** Whether the run is to end here, its state being saved. */
export function isToPause({ shouldPause, workDirectory }: TrainingJob): boolean {
  return workDirectory !== undefined && shouldPause?.() === true;
}

/** What a run throws that has saved its state because it was asked to pause. */
export function paused(): HeddleError {
  return new HeddleError("aborted", "The training job was paused.", { details: { reason: "paused" } });
}
