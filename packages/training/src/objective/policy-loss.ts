import type { PolicySequence, PolicySettings } from "../port.js";
import { importanceRatios } from "./importance-ratio.js";
import { klEstimate } from "./kl-loss.js";
import { addProbability, probabilitySums } from "./metric-sums.js";
import type { SequenceLoss } from "./sequence-loss.js";
import { checkSequence } from "./trained-tokens.js";

/**
 * Computes the clipped policy loss of one sequence, summed over its trained tokens with their weights. Per token, in
 * this order:
 *
 * 1. The ratio `rho` of `importanceRatios`.
 * 2. `rho = min(rho, cap)` with `maxNegativeAdvantageImportanceSamplingWeight`. Despite its name, the trainer that
 *    defines this setting caps every token, also those with positive advantages, and so does this function.
 * 3. `maskProbRatio`: rho = 0 unless 1 - epsilon < rho < 1 + epsilonHigh.
 * 4. `k2Tau`: the advantage is reduced by tau * (new - old), held constant.
 * 5. CISPO: `-clip(rho) * advantage * logprob`, the clipped ratio held constant. PPO: `-min(rho * advantage,
 *    clip(rho) * advantage)`. Both clip to [1 - epsilon, 1 + epsilonHigh]. A masked ratio is clipped as well: CISPO
 *    weighs such a token by 1 - epsilon, which is 0 by default.
 * 6. `truncatedImportanceSampling`: times min(v, limit), held constant; v = exp(old - rollout) if the sequence has
 *    rollout log-probabilities (1 where those are unknown), else v = rho.
 * 7. `klLoss`: plus coefficient * `klEstimate`, which the truncation does not weigh.
 */
export function policyLoss(sequence: PolicySequence, logprobs: Float64Array, settings: PolicySettings): SequenceLoss {
  const { mask, weights, advantages, oldLogprobs, rolloutLogprobs, referenceLogprobs, segments } = sequence;
  const { klLoss } = settings;
  checkSequence(sequence, logprobs, {
    weights,
    advantages,
    oldLogprobs,
    rolloutLogprobs,
    segments,
    ...(klLoss && { referenceLogprobs: referenceLogprobs ?? [] }),
  });
  const ratios = importanceRatios(mask, logprobs, oldLogprobs, segments, settings.importanceSamplingLevel);
  const low = 1 - settings.epsilon;
  const high = 1 + settings.epsilonHigh;
  const cap = settings.maxNegativeAdvantageImportanceSamplingWeight || Infinity;
  const limit = settings.truncatedImportanceSampling || Infinity;

  const slopes = new Float64Array(mask.length);
  const direct = new Float64Array(mask.length);
  const sums = { trainedTokens: 0, clipped: 0, ratio: 0, ratioSquared: 0, knownOld: 0, oldMinusNew: 0 };
  const probabilities = probabilitySums();
  const kl = klLoss && { klLoss: 0 };
  let loss = 0;
  for (let t = 0; t < mask.length; t++) {
    if (!mask[t]) continue;
    const logprob = logprobs[t] ?? 0;
    const uncapped = ratios.ratio[t] ?? 0;
    const capped = Math.min(uncapped, cap);
    const rho = settings.maskProbRatio && !(capped > low && capped < high) ? 0 : capped;
    const clipped = Math.min(Math.max(rho, low), high);
    const advantage = (advantages[t] ?? 0) - (settings.k2Tau ?? 0) * (ratios.logRatio[t] ?? 0);
    const truncation = limit === Infinity ? 1 : Math.min(truncationRatio(t, rho), limit);
    const weight = (weights[t] ?? 0) * truncation;

    let changed = rho !== uncapped;
    if (settings.ppo) {
      const usesRatio = rho * advantage <= clipped * advantage;
      loss -= weight * (usesRatio ? rho : clipped) * advantage;
      if (usesRatio && !changed) slopes[t] = -weight * advantage;
      changed ||= !usesRatio;
    } else {
      loss -= weight * clipped * advantage * logprob;
      direct[t] = -weight * clipped * advantage;
      changed ||= clipped !== rho;
    }
    if (klLoss && kl) {
      const { value, slope } = klEstimate(klLoss.estimator, logprob, referenceLogprobs?.[t] ?? NaN);
      const factor = (weights[t] ?? 0) * klLoss.coefficient;
      loss += factor * value;
      direct[t] = (direct[t] ?? 0) + factor * slope;
      kl.klLoss += value;
    }
    count(t, logprob, rho, changed);
  }
  const gradient = settings.ppo ? ratios.backward(slopes).map((slope, t) => slope + (direct[t] ?? 0)) : direct;
  return { loss, gradient, sums: { ...sums, ...probabilities, ...kl } };

  /** Ratio of the old policy to the one that sampled. */
  function truncationRatio(t: number, rho: number): number {
    if (!rolloutLogprobs) return rho;
    const rollout = rolloutLogprobs[t] ?? NaN;
    if (Number.isNaN(rollout)) return 1;
    const old = oldLogprobs[t] ?? NaN;
    return Math.exp((Number.isNaN(old) ? (logprobs[t] ?? 0) : old) - rollout);
  }

  function count(t: number, logprob: number, rho: number, changed: boolean): void {
    sums.trainedTokens++;
    sums.clipped += changed ? 1 : 0;
    sums.ratio += rho;
    sums.ratioSquared += rho * rho;
    const old = oldLogprobs[t] ?? NaN;
    if (!Number.isNaN(old)) {
      sums.knownOld++;
      sums.oldMinusNew += old - logprob;
    }
    const sampled = (rolloutLogprobs ?? oldLogprobs)[t] ?? NaN;
    if (!Number.isNaN(sampled)) addProbability(probabilities, sampled, logprob);
  }
}
