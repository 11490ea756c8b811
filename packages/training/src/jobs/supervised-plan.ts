import { optimizerDefaults, scheduledLearningRate } from "../objective/optimizer-defaults.js";
import { trainedTokens } from "../objective/trained-tokens.js";
import type { TokenSequence, Trainer } from "../port.js";
import { meanLogprobOf } from "./divergence.js";
import type { GradientPlan, GradientStep } from "./gradient-loop.js";
import { sequenceParts } from "./sequence-parts.js";
import type { TrainingJob } from "./training-job.js";
import type { SftConfig } from "./sft-config.js";

export interface SupervisedJob extends TrainingJob {
  settings: SftConfig;
  /** Size of the model's vocabulary; see `GradientPlan`. */
  vocabularySize?: number;
  /** Rows in file order; undefined for a row that is too long to be trained. */
  rows: (TokenSequence | undefined)[];
  /** What is evaluated, where the settings say so. */
  validationRows?: TokenSequence[];
}

/**
 * Plans supervised learning: steps of `batchSize` consecutive rows. The loss of a step is the mean over its trained
 * tokens. A batch without rows or trained tokens is a step that changes nothing, with loss 0.
 */
export function supervisedPlan(job: SupervisedJob): GradientPlan {
  const { rows, settings, validationRows: evaluated = [] } = job;
  const { batchSize, learningRate } = settings;
  const steps = Math.ceil(rows.length / batchSize);
  const defaults = optimizerDefaults(job.from.baseModel, "sft");
  const kept = rows.filter((row) => row !== undefined);
  const size = {
    batch_size: batchSize,
    num_trajectories: rows.length,
    num_dropped_trajectories: rows.length - kept.length,
    num_trainable_tokens: tokensIn(kept),
  };
  return {
    steps,
    trainedTokens: size.num_trainable_tokens,
    identity: ["sft", settings, ...[...rows, ...evaluated].flatMap((row) => [row?.tokens ?? null, row?.mask ?? null])],
    vocabularySize: job.vocabularySize,
    started: size,
    ended: size,
    validation: settings.validation && {
      everySteps: settings.validation.everySteps ?? Math.ceil(steps / 10),
      patience: settings.validation.patience,
      keepsBest: settings.validation.keepsBest ?? false,
      loss: validationLoss,
    },
    step,
  };

  /** The mean of `-logprob` over all trained tokens of the rows, as of one batch that has them all. */
  async function validationLoss(trainer: Trainer): Promise<number> {
    let sum = 0;
    for (const part of sequenceParts(evaluated)) {
      for (const logprobs of await trainer.logprobs(part, job.signal))
        for (const logprob of logprobs) if (!Number.isNaN(logprob)) sum -= logprob;
      job.onProgress?.();
    }
    return sum / tokensIn(evaluated);
  }

  async function step(trainer: Trainer, index: number): Promise<GradientStep> {
    const startedAt = performance.now();
    const batch = rows.slice(index * batchSize, (index + 1) * batchSize);
    const kept = batch.filter((row) => row !== undefined);
    const sequences = kept.filter((row) => trainedTokens(row) > 0);
    const normalizer = tokensIn(sequences);
    const rate = rateOf(index);
    const result = { loss: 0, grad_norm: 0 };
    let meanLogprob: number | undefined;
    if (normalizer > 0) {
      const evaluation = await trainer.forwardBackward(
        { name: "cross_entropy", sequences, normalizer },
        { signal: job.signal },
      );
      const { gradientNorm } = await trainer.optimStep({ ...defaults, learningRate: rate });
      result.loss = evaluation.loss;
      meanLogprob = meanLogprobOf(evaluation);
      result.grad_norm = gradientNorm;
    }
    const tokens = kept.reduce((sum, sequence) => sum + sequence.tokens.length, 0);
    const data = {
      ...result,
      learning_rate: rate,
      num_trajectories: batch.length,
      num_dropped_trajectories: batch.length - kept.length,
      num_tokens: tokens,
      num_trainable_tokens: normalizer,
      tokens_per_second: (1000 * tokens) / (performance.now() - startedAt),
    };
    return { data, meanLogprob };
  }

  function rateOf(index: number): number {
    if (learningRate === undefined) return scheduledLearningRate(defaults, index, steps);
    return Array.isArray(learningRate) ? (learningRate[index] ?? 0) : learningRate;
  }
}

function tokensIn(sequences: TokenSequence[]): number {
  return sequences.reduce((sum, sequence) => sum + trainedTokens(sequence), 0);
}
