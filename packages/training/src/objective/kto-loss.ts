import type { AnswerScore, PreferenceLoss } from "./dpo-loss.js";
import { logRatio } from "./dpo-loss.js";
import { sigmoid } from "./sigmoid.js";

export interface RatingScore {
  answer: AnswerScore;
  desirable: boolean;
}

export interface KtoSettings {
  name: "kto";
  beta: number;
  desirableWeight: number;
  undesirableWeight: number;
}

/**
 * Kahneman-Tversky optimisation. With r = logprob - reference of an answer, and z the mean r of answers to other prompts,
 * or 0 if it is negative, the loss of a rating is `weight * (1 - σ(beta (r - z)))` for a desirable answer, and
 * `weight * (1 - σ(beta (z - r)))` for an undesirable one. z is an estimate of the divergence from the reference, and a
 * constant of the gradient. Each rating has one slope.
 *
 * @param mismatched of answers to other prompts; without any, z is 0.
 */
export function ktoLoss(
  ratings: readonly RatingScore[],
  mismatched: readonly AnswerScore[],
  { beta, desirableWeight, undesirableWeight }: KtoSettings,
): PreferenceLoss {
  const kl = Math.max(0, mismatched.reduce((sum, score) => sum + logRatio(score), 0) / Math.max(1, mismatched.length));
  let loss = 0;
  const slopes = ratings.map(({ answer, desirable }) => {
    const [sign, weight] = desirable ? [1, desirableWeight] : [-1, undesirableWeight];
    const value = sigmoid(sign * beta * (logRatio(answer) - kl));
    loss += (weight * (1 - value)) / ratings.length;
    return [(-sign * weight * beta * value * (1 - value)) / ratings.length];
  });
  const chosen = ratings.filter(({ desirable }) => desirable).map(({ answer }) => answer);
  const rejected = ratings.filter(({ desirable }) => !desirable).map(({ answer }) => answer);
  const reward = { chosen: beta * mean(chosen.map(logRatio)), rejected: beta * mean(rejected.map(logRatio)) };
  return {
    loss,
    slopes,
    metrics: {
      kl,
      reward_chosen: reward.chosen,
      reward_rejected: reward.rejected,
      reward_margin: reward.chosen - reward.rejected,
      logprob_chosen: mean(chosen.map(({ logprob }) => logprob)),
      logprob_rejected: mean(rejected.map(({ logprob }) => logprob)),
    },
  };
}

/** NaN of nothing: a step may have ratings of one kind only. */
function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
