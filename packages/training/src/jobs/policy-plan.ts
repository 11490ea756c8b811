import { klPenalty } from "../objective/kl-penalty.js";
import { scheduleFactor } from "../objective/learning-rate-schedule.js";
import { optimizerDefaults } from "../objective/optimizer-defaults.js";
import type { LossAggregation } from "../objective/token-weights.js";
import { lossNormalizer, tokenWeights } from "../objective/token-weights.js";
import { trainedTokens } from "../objective/trained-tokens.js";
import type { ForwardBackwardOutput, PolicySequence, Trainer } from "../port.js";
import { meanLogprobOf } from "./divergence.js";
import type { GradientPlan, GradientStep } from "./gradient-loop.js";
import { optimizerSteps } from "./optimizer-steps.js";
import type { PlannedSequence, PolicyJob, Rollout } from "./policy-job.js";
import { scoredSequences } from "./policy-scores.js";
import { checkSampling } from "./sampling-check.js";

/**
 * Plans reinforcement learning on rollouts. Weights and advantages are normalised over the job, and sequences are
 * divided into steps by `optimizerSteps`. The loss of a step is the sum over its trained tokens divided by
 * `lossNormalizer`.
 */
export function policyPlan(job: PolicyJob): GradientPlan {
  const { settings } = job;
  const aggregation = settings.lossAggregation ?? { name: "per_sequence" };
  let sequences = plannedSequences(job.rollouts, settings.advantageBalance, aggregation.name);
  const steps = optimizerSteps(sequences, job.seed, settings);
  const defaults = optimizerDefaults(job.from.baseModel, "rl");
  const size = {
    num_datums: sequences.length,
    num_trainable_tokens: sequences.reduce((sum, { sequence }) => sum + trainedTokens(sequence), 0),
  };
  return {
    steps: steps.length,
    trainedTokens: size.num_trainable_tokens,
    identity: ["rl", settings, steps, job.learningRateFactor, ...sequences.flatMap(identityOf)],
    vocabularySize: job.vocabularySize,
    started: { ...job.constants, ...size },
    ended: { ...job.constants, ...size },
    prepare: async (state) => {
      sequences = await scoredSequences(job, sequences, state);
    },
    step,
  };

  async function step(trainer: Trainer, index: number): Promise<GradientStep> {
    const startedAt = performance.now();
    const members = (steps[index] ?? []).flatMap((at) => sequences[at] ?? []);
    const { batch, kl } = await applyKlPenalty(trainer, members);
    const trained = batch.reduce((sum, sequence) => sum + trainedTokens(sequence), 0);
    const normalizer = lossNormalizer(aggregation, { sequences: batch.length, trainedTokens: trained });
    const evaluation = await trainer.forwardBackward(
      { name: "policy", sequences: batch, settings: settings.policy, normalizer },
      { entropy: true, signal: job.signal },
    );
    const { difference, warning } = checkSampling(index === 0 ? sampledBy(job.fromStep, members) : [], evaluation);
    const factor = batch.length ** settings.learningRatePower * job.learningRateFactor * scheduled(index);
    const learningRate = (settings.learningRate ?? defaults.learningRate) * factor;
    const { gradientNorm } = await trainer.optimStep({ ...defaults, learningRate });
    const tokens = batch.reduce((sum, sequence) => sum + sequence.tokens.length, 0);
    const { trained_tokens: _, ...metrics } = evaluation.metrics;
    const data = {
      ...job.constants,
      ...metrics,
      entropy: meanEntropy(evaluation, batch, trained),
      kl_policy_ref: kl,
      logprob_difference: difference,
      loss: evaluation.loss,
      grad_norm: gradientNorm,
      learning_rate: learningRate,
      num_datums: batch.length,
      num_tokens: tokens,
      num_trainable_tokens: trained,
      tokens_per_second: (1000 * tokens) / (performance.now() - startedAt),
    };
    return { data, meanLogprob: meanLogprobOf(evaluation), warning };
  }

  function scheduled(index: number): number {
    const { learningRateSchedule: schedule } = settings;
    if (!schedule) return 1;
    if (schedule.totalSteps === undefined) return scheduleFactor(schedule, index, steps.length);
    return scheduleFactor(schedule, job.fromStep ?? 0, schedule.totalSteps);
  }

  /** Adds the KL penalty to the advantages of a step's sequences. Returns them with the mean, NaN without a penalty. */
  async function applyKlPenalty(
    trainer: Trainer,
    members: PlannedSequence[],
  ): Promise<{ batch: PolicySequence[]; kl: number }> {
    const batch = members.map(({ sequence }) => sequence);
    if (!settings.klPenalty) return { batch, kl: NaN };
    const { coefficient, source } = settings.klPenalty;
    const sampled = source === "sample";
    const current = sampled && batch.every(hasOldLogprobs) ? undefined : await trainer.logprobs(batch, job.signal);
    const { advantages, mean } = klPenalty(
      members.map(({ sequence, reference }, at) => ({
        mask: sequence.mask,
        advantages: sequence.advantages,
        logprobs: sampled ? fillMissing(sequence.oldLogprobs, current?.[at]) : (current?.[at] ?? sequence.oldLogprobs),
        reference: reference ?? sequence.oldLogprobs,
      })),
      coefficient,
    );
    const penalised = batch.map((sequence, at) => ({
      ...sequence,
      advantages: advantages[at] ?? sequence.advantages,
    }));
    return { batch: penalised, kl: mean };
  }
}

/** The sampled log-probabilities of those sequences that the weights of this step have sampled. */
function sampledBy(step: number | undefined, members: PlannedSequence[]): (Float64Array | undefined)[] {
  return members.map(({ sampledAt, sequence: { rolloutLogprobs, oldLogprobs } }) =>
    step !== undefined && sampledAt === step ? (rolloutLogprobs ?? oldLogprobs) : undefined,
  );
}

function plannedSequences(
  rollouts: Rollout[],
  balance: number,
  aggregation: LossAggregation["name"],
): PlannedSequence[] {
  const counted = rollouts.map(countAdvantages);
  const scaled = tokenWeights(
    counted.flatMap((counts) => {
      const tokens = [...counts.values()].reduce((sum, count) => sum + count, 0);
      return [...counts].map(([advantage, count]) => ({ advantage, trainedTokens: tokens, tokens: count }));
    }),
    balance,
    aggregation,
  );
  let next = 0;
  const scales = counted.map((counts) => new Map([...counts.keys()].map((advantage) => [advantage, scaled[next++]])));
  return rollouts.flatMap(({ group, advantage, sequences }, at) =>
    sequences.map(({ sampledAt, turnAdvantages, ...sequence }) => {
      const ofTokens = Array.from(sequence.mask, (_, t) => scales[at]?.get(advantage + (turnAdvantages?.[t] ?? 0)));
      // Those of untrained tokens are not read, and are the same as those of others.
      const other = scales[at]?.values().next().value;
      return {
        group,
        sampledAt,
        sequence: {
          ...sequence,
          weights: Float64Array.from(ofTokens, (scale) => (scale ?? other)?.weight ?? 0),
          advantages: Float64Array.from(ofTokens, (scale) => (scale ?? other)?.advantage ?? 0),
        },
      };
    }),
  );
}

/** Number of trained tokens of a rollout by their advantage. */
function countAdvantages({ advantage, sequences }: Rollout): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { mask, turnAdvantages } of sequences) {
    for (let t = 0; t < mask.length; t++) {
      if (!mask[t]) continue;
      const total = advantage + (turnAdvantages?.[t] ?? 0);
      counts.set(total, (counts.get(total) ?? 0) + 1);
    }
  }
  return counts;
}

function identityOf({ sequence }: PlannedSequence): unknown[] {
  return [sequence.tokens, sequence.mask, sequence.weights, sequence.advantages, sequence.oldLogprobs];
}

function hasOldLogprobs({ mask, oldLogprobs }: PolicySequence): boolean {
  return mask.every((trained, t) => !trained || !Number.isNaN(oldLogprobs[t]));
}

/** Replaces unknown old log-probabilities by the current ones. */
function fillMissing(old: Float64Array, current: Float64Array | undefined): Float64Array {
  return old.map((logprob, t) => (Number.isNaN(logprob) ? (current?.[t] ?? NaN) : logprob));
}

/** Returns the mean entropy of the trained tokens in nats, weighted like the loss; NaN if the trainer reports none. */
function meanEntropy({ entropies }: ForwardBackwardOutput, batch: PolicySequence[], tokens: number): number {
  let sum = 0;
  for (const [at, { mask, weights }] of batch.entries()) {
    for (let t = 0; t < mask.length; t++) if (mask[t]) sum += (weights[t] ?? 0) * (entropies?.[at]?.[t] ?? NaN);
  }
  return sum / tokens;
}
