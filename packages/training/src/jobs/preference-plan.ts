import type { AnswerScore, PreferenceLoss } from "../objective/dpo-loss.js";
import { dpoLoss } from "../objective/dpo-loss.js";
import { ktoLoss } from "../objective/kto-loss.js";
import { scheduleFactor } from "../objective/learning-rate-schedule.js";
import { optimizerDefaults } from "../objective/optimizer-defaults.js";
import { checkSequence, trainedTokens } from "../objective/trained-tokens.js";
import type { TokenSequence, Trainer } from "../port.js";
import type { PreferenceRow } from "../trajectories/preference-sequences.js";
import type { GradientPlan, GradientStep } from "./gradient-loop.js";
import type { JobState } from "./job-state.js";
import { logprobsUnder } from "./logprobs-under.js";
import { mismatchedAnswers } from "./mismatched-answers.js";
import type { PreferenceConfig } from "./preference-config.js";
import { seededOrder } from "./seeded-order.js";
import type { TrainingJob } from "./training-job.js";

export interface PlannedPreferences extends TrainingJob {
  settings: PreferenceConfig;
  /** Size of the model's vocabulary; see `GradientPlan`. */
  vocabularySize?: number;
  /** Maximum number of tokens of a sequence. Default: no limit. */
  maxSequenceTokens?: number;
  /** Step of the weights that the job starts from, for a learning rate that is scheduled over steps of the model. */
  fromStep?: number;
  /** All pairs for DPO, all ratings for KTO. */
  rows: readonly PreferenceRow[];
}

/**
 * Plans learning from preferences: steps of `batchSize` rows, each pass over all batches in an order of its own unless
 * they are not shuffled. The reference is the weights that the job starts from. The loss of a step is not a sum over
 * tokens, so the trainer's part is a cross-entropy whose weights are its derivatives.
 */
export function preferencePlan(job: PlannedPreferences): GradientPlan {
  const { rows, settings } = job;
  const draws = seededOrder(job.seed);
  const batches = batchesOf(rows, settings, draws);
  const passes = Array.from({ length: settings.passes }, () => (settings.shuffle ? draws.shuffled(batches) : batches));
  const steps = passes.flat();
  const defaults = optimizerDefaults(job.from.baseModel, "preference");
  const sequences = rows.flatMap(sequencesOf);
  const tokens = sequences.reduce((sum, sequence) => sum + trainedTokens(sequence), 0);
  const size = {
    batch_size: settings.batchSize,
    num_epochs: settings.passes,
    ...countsOf(rows),
    num_trainable_tokens: tokens,
  };
  /** Log-probabilities of answers under the reference. */
  const references = new Map<TokenSequence, number>();
  const ofOthers = new Map<Batch, TokenSequence[]>();
  return {
    steps: steps.length,
    trainedTokens: tokens * settings.passes,
    identity: ["preference", settings, ...rows.map(labelOf), ...sequences.flatMap((each) => [each.tokens, each.mask])],
    vocabularySize: job.vocabularySize,
    started: size,
    ended: size,
    prepare,
    step,
  };

  async function prepare(state: JobState): Promise<void> {
    const others = settings.objective.name === "kto" ? batches.map(mismatchedOf) : [];
    const scored = [...sequences, ...others.flat()];
    const keep = (logprobs: Float64Array) => Float64Array.of(sumOf(logprobs));
    const sums = await logprobsUnder(job.from, scored, { job, state, name: "reference-logprobs", keep });
    for (const [index, sequence] of scored.entries()) references.set(sequence, sums[index]?.[0] ?? NaN);
    for (const [index, batch] of batches.entries()) ofOthers.set(batch, others[index] ?? []);
  }

  async function step(trainer: Trainer, index: number): Promise<GradientStep> {
    const startedAt = performance.now();
    const batch = steps[index] ?? [];
    const trained = batch.flatMap(sequencesOf);
    const others = ofOthers.get(batch) ?? [];
    const scores = await scoresOf(trainer, [...trained, ...others]);
    const { loss, slopes, metrics } = lossOf(batch, scores, others);
    const weighted = trained.map((sequence, at) => ({
      tokens: sequence.tokens,
      mask: sequence.mask,
      weights: Float64Array.from(sequence.mask, (isTrained) => (isTrained ? -(slopes.flat()[at] ?? 0) : 0)),
    }));
    await trainer.forwardBackward(
      { name: "cross_entropy", sequences: weighted, normalizer: 1 },
      { signal: job.signal },
    );
    const learningRate = (settings.learningRate ?? defaults.learningRate) * scheduled(index);
    const { gradientNorm } = await trainer.optimStep({ ...defaults, learningRate });
    const size = [...trained, ...others].reduce((sum, sequence) => sum + sequence.tokens.length, 0);
    const data = {
      loss,
      grad_norm: gradientNorm,
      learning_rate: learningRate,
      ...metrics,
      ...countsOf(batch),
      num_tokens: size,
      num_trainable_tokens: trained.reduce((sum, sequence) => sum + trainedTokens(sequence), 0),
      tokens_per_second: (1000 * size) / (performance.now() - startedAt),
    };
    return { data, meanLogprob: meanLogprobOf(batch, scores) };
  }

  async function scoresOf(trainer: Trainer, scored: TokenSequence[]): Promise<Map<TokenSequence, AnswerScore>> {
    const logprobs = await trainer.logprobs(scored, job.signal);
    return new Map(
      scored.map((sequence, at) => {
        const values = logprobs[at] ?? new Float64Array();
        checkSequence(sequence, values, {});
        const reference = references.get(sequence) ?? NaN;
        return [sequence, { logprob: sumOf(values), reference, tokens: trainedTokens(sequence) }];
      }),
    );
  }

  function lossOf(batch: Batch, scores: Map<TokenSequence, AnswerScore>, others: TokenSequence[]): PreferenceLoss {
    const score = (sequence: TokenSequence): AnswerScore =>
      scores.get(sequence) ?? { logprob: 0, reference: 0, tokens: 0 };
    const { objective } = settings;
    if (objective.name === "dpo") {
      const pairs = batch.flatMap((row) =>
        "chosen" in row ? [{ chosen: score(row.chosen), rejected: score(row.rejected) }] : [],
      );
      return dpoLoss(pairs, objective);
    }
    const ratings = batch.flatMap((row) =>
      "answer" in row ? [{ answer: score(row.answer), desirable: row.desirable }] : [],
    );
    return ktoLoss(ratings, others.map(score), objective);
  }

  function mismatchedOf(batch: Batch): TokenSequence[] {
    const answers = batch.flatMap((row) => ("answer" in row ? [row.answer] : []));
    return mismatchedAnswers(answers, job.maxSequenceTokens);
  }

  function scheduled(index: number): number {
    const { learningRateSchedule: schedule } = settings;
    if (!schedule) return 1;
    if (schedule.totalSteps === undefined) return scheduleFactor(schedule, index, steps.length);
    return scheduleFactor(schedule, job.fromStep ?? 0, schedule.totalSteps);
  }
}

type Batch = readonly PreferenceRow[];

/** Consecutive rows, in a random order if they are shuffled. A rating that would be alone joins the batch before. */
function batchesOf(
  rows: readonly PreferenceRow[],
  { objective, batchSize, shuffle }: PreferenceConfig,
  draws: ReturnType<typeof seededOrder>,
): Batch[] {
  const ordered = shuffle ? draws.shuffled(rows) : rows;
  const batches: PreferenceRow[][] = [];
  for (let at = 0; at < ordered.length; at += batchSize) batches.push(ordered.slice(at, at + batchSize));
  const last = batches.at(-1);
  if (objective.name === "kto" && last?.length === 1 && batches.length > 1) {
    batches.pop();
    batches.at(-1)?.push(...last);
  }
  return batches;
}

function sequencesOf(row: PreferenceRow): TokenSequence[] {
  return "chosen" in row ? [row.chosen, row.rejected] : [row.answer];
}

function labelOf(row: PreferenceRow): boolean | null {
  return "desirable" in row ? row.desirable : null;
}

function countsOf(rows: readonly PreferenceRow[]): Record<string, number> {
  const labels = rows.map(labelOf);
  const ratings = labels.filter((label) => label !== null);
  if (ratings.length === 0) return { num_pairs: rows.length };
  const desirable = ratings.filter((label) => label).length;
  return { num_ratings: ratings.length, num_desirable: desirable, num_undesirable: ratings.length - desirable };
}

/** Of untrained tokens there is no log-probability. */
function sumOf(logprobs: Float64Array): number {
  return logprobs.reduce((sum, logprob) => (Number.isNaN(logprob) ? sum : sum + logprob), 0);
}

/** Of the tokens of preferred answers: others are meant to become unlikely. */
function meanLogprobOf(batch: Batch, scores: Map<TokenSequence, AnswerScore>): number | undefined {
  const preferred = batch.flatMap((row) => ("chosen" in row ? [row.chosen] : row.desirable ? [row.answer] : []));
  const found = preferred.flatMap((sequence) => scores.get(sequence) ?? []);
  const tokens = found.reduce((sum, score) => sum + score.tokens, 0);
  return tokens === 0 ? undefined : found.reduce((sum, { logprob }) => sum + logprob, 0) / tokens;
}
