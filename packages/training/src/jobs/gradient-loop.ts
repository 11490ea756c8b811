import { pathExists } from "@heddle/durable-files";
import { HeddleError } from "@heddle/errors";
import type { Trainer, WeightsRef } from "../port.js";
import type { TrainingJob, TrainingJobEvent, TrainingJobResult } from "./training-job.js";
import { isToPause, paused, throwIfAborted } from "./training-job.js";
import { divergenceWatch } from "./divergence.js";
import type { JobState, TrainingOutcome } from "./job-state.js";
import { fingerprintOf, openJobState } from "./job-state.js";
import type { ValidationPlan } from "./validation.js";
import { validationSummary, validationWatch } from "./validation.js";

/** What a kind of training contributes to the common sequence of a job. */
export interface GradientPlan {
  /** Number of optimizer steps, unless the validation ends them early; each emits one event. */
  steps: number;
  trainedTokens: number;
  /** All input that affects the result: JSON values or bytes. */
  identity: unknown[];
  started: Record<string, number | string | string[]>;
  ended: Record<string, number | string>;
  /** Called before the trainer is opened, if there are steps. May open other trainers, and must close them. */
  prepare?(state: JobState): Promise<void>;
  /** Size of the model's vocabulary, from which divergence is recognised. */
  vocabularySize?: number;
  /** Absent: the weights are not evaluated. */
  validation?: ValidationPlan | undefined;
  /** Performs the optimizer step with this index, counted from 0. */
  step(trainer: Trainer, index: number): Promise<GradientStep>;
}

export interface GradientStep {
  /** Data of the step's event. */
  data: Record<string, number>;
  /** Mean log-probability of the trained tokens before the step; undefined if there are none. */
  meanLogprob: number | undefined;
  /** What is wrong with the data although they can be trained. */
  warning?: string | undefined;
}

const defaultStepsPerCheckpoint = 25;

/**
 * Runs a plan from its first step, or from the state of an interrupted run, to a written checkpoint. Events are emitted
 * in order; `training_ended` follows after the checkpoint is written.
 */
export async function runGradientSteps(job: TrainingJob, plan: GradientPlan): Promise<TrainingJobResult> {
  throwIfAborted(job.signal);
  const { from, adapter, seed } = job;
  const identity = [from, adapter ?? null, seed, job.resetOptimizer ?? false, plan.steps, ...plan.identity];
  const state = await openJobState(job.workDirectory, fingerprintOf(identity));
  // Checkpoints are written atomically, so one that exists after an interruption is the result of this job.
  const finished = pathExists(job.directory);
  if (finished && !state.resumed) {
    throw new HeddleError("conflict", "The directory of the new checkpoint already exists.", { loc: ["directory"] });
  }
  if (!job.reported?.started) {
    await job.onEvent({ type: "training_started", data: { ...plan.started, num_sequences: plan.steps } });
  }
  const found: WeightsRef = { baseModel: from.baseModel, checkpoint: job.directory };
  const { weights, outcome } = finished
    ? {
        weights: { ...found, digest: await job.engine.weightsDigest(found) },
        outcome: state.outcome ?? { steps: plan.steps },
      }
    : await train(job, plan, state);
  const ended = {
    ...plan.ended,
    ...finiteValues(validationSummary(outcome.validation, plan.validation)),
    num_gradient_steps: outcome.steps,
    ...(outcome.steps < plan.steps && { stopped_early: 1 }),
  };
  await job.onEvent({ type: "training_ended", data: ended });
  for (const checkpoint of new Set([state.checkpoint, state.kept]))
    if (checkpoint !== undefined) await discard(job, checkpoint);
  await state.clear();
  return { weights, gradientSteps: outcome.steps, trainedTokens: plan.trainedTokens };
}

/** Returns the reference to the written checkpoint, and how the training ended. */
async function train(
  job: TrainingJob,
  plan: GradientPlan,
  state: JobState,
): Promise<{ weights: WeightsRef; outcome: TrainingOutcome }> {
  if (plan.validation?.keepsBest === true && job.workDirectory === undefined) {
    throw new HeddleError("unsupported", "The best weights are kept in a work directory, and there is none.", {
      loc: ["workDirectory"],
    });
  }
  if (plan.steps > 0) await plan.prepare?.(state);
  let trainer = await openTrainer(job, state.checkpoint);
  try {
    const outcome = await takeSteps(job, plan, state, trainer);
    const { validation, steps } = outcome;
    if (state.kept !== undefined && validation !== undefined && validation.bestStep + 1 < steps) {
      // There is room for one trainer.
      await trainer.close();
      trainer = await openTrainer(job, state.kept);
    }
    throwIfAborted(job.signal);
    await job.onTrained?.(trainer);
    if (plan.validation !== undefined) await state.conclude(outcome);
    return { weights: await trainer.exportWeights(job.directory, { state: true }), outcome };
  } finally {
    await closeQuietly(trainer);
  }
}

/** Opens an internal checkpoint, or what the job starts from. */
async function openTrainer(
  { engine, from, adapter, seed, resetOptimizer, signal }: TrainingJob,
  internal: string | undefined,
): Promise<Trainer> {
  return await engine.openTrainer(
    {
      weights: { baseModel: from.baseModel, checkpoint: internal ?? from.checkpoint },
      adapter,
      seed,
      resetOptimizer: internal === undefined && resetOptimizer === true,
    },
    signal,
  );
}

/** Performs the steps that are left. */
async function takeSteps(
  job: TrainingJob,
  plan: GradientPlan,
  state: JobState,
  trainer: Trainer,
): Promise<TrainingOutcome> {
  const watch = divergenceWatch(plan.vocabularySize, state.divergence);
  const validation = validationWatch(plan, state.validation);
  let steps = plan.steps;
  job.onReady?.();
  for (let index = state.completedSteps; index < plan.steps; index++) {
    throwIfAborted(job.signal);
    const { data, meanLogprob, warning } = await plan.step(trainer, index);
    const diverged = watch.check(index, data["loss"] ?? 0, meanLogprob) && { diverged: 1 };
    const evaluated = await validation.after(trainer, index);
    const event: TrainingJobEvent = {
      type: "gradient_step",
      data: { ...finiteValues({ ...data, ...evaluated.data }), ...diverged, gradient_step: index },
      ...(warning !== undefined && { warning }),
    };
    if (index >= (job.reported?.gradientSteps ?? 0)) await job.onEvent(event);
    const done = index + 1;
    if (evaluated.stops) steps = done;
    if (done === steps) break;
    const pauses = isToPause(job);
    if (pauses || evaluated.isKept || done % (job.stepsPerCheckpoint ?? defaultStepsPerCheckpoint) === 0) {
      await state.advance(done, {
        keeps: evaluated.isKept,
        divergence: watch.state,
        validation: validation.state,
        save: (directory) => trainer.saveState(directory),
        discard: (directory) => discard(job, directory),
      });
    }
    if (pauses) throw paused();
  }
  return { steps, validation: validation.state };
}

/** Deletes what a server keeps of an internal checkpoint. An error is ignored: the job does not depend on it. */
async function discard({ engine, from }: TrainingJob, checkpoint: string): Promise<void> {
  await engine.deleteWeights({ baseModel: from.baseModel, checkpoint }).catch(() => undefined);
}

/** Closes a trainer and ignores errors: they do not affect the result, and must not hide an earlier error. */
export async function closeQuietly(trainer: Trainer): Promise<void> {
  await trainer.close().catch(() => undefined);
}

/** Omits values that are not finite: readers of the events expect finite numbers. */
function finiteValues(data: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => Number.isFinite(value)));
}
