import { logSigmoid, sigmoid } from "./sigmoid.js";

/** Log-probabilities of an answer: sums over its tokens, under the trained weights and those of the reference. */
export interface AnswerScore {
  logprob: number;
  reference: number;
  /** Number of its tokens. */
  tokens: number;
}

export interface PairScore {
  chosen: AnswerScore;
  rejected: AnswerScore;
}

export interface DpoSettings {
  name: "dpo";
  beta: number;
  /** Probability that a pair is the wrong way round; below 0.5. */
  labelSmoothing: number;
  /** Whether the log-ratio of an answer is divided by its number of tokens. */
  lengthNormalization: boolean;
}

/** Means over the pairs of a step. */
export interface PreferenceLoss {
  loss: number;
  /** dLoss/dlogprob, the same for each token of an answer; by pair, or by rating. */
  slopes: number[][];
  metrics: Record<string, number>;
}

/**
 * Direct preference optimisation. With r(answer) = logprob - reference, divided by its tokens if lengths are normalised,
 * and h = r(chosen) - r(rejected), the loss of a pair is `-log σ(beta h)`. With label smoothing s it is
 * `(s log σ(-beta h) - (1 - s) log σ(beta h)) / (1 - 2 s)`, whose mean is that of the true order if pairs are the wrong
 * way round with the probability s (robust DPO). A reward is beta (logprob - reference), whatever the length. The slopes
 * of a pair are those of its chosen and its rejected answer.
 */
export function dpoLoss(
  pairs: readonly PairScore[],
  { beta, labelSmoothing: s, lengthNormalization }: DpoSettings,
): PreferenceLoss {
  const sums = { loss: 0, chosen: 0, rejected: 0, right: 0, logprobChosen: 0, logprobRejected: 0 };
  const slopes = pairs.map(({ chosen, rejected }) => {
    const perToken = ({ tokens }: AnswerScore): number => (lengthNormalization ? 1 / Math.max(1, tokens) : 1);
    const difference = logRatio(chosen) * perToken(chosen) - logRatio(rejected) * perToken(rejected);
    const logit = beta * difference;
    sums.loss += (s * logSigmoid(-logit) - (1 - s) * logSigmoid(logit)) / (1 - 2 * s);
    sums.chosen += beta * logRatio(chosen);
    sums.rejected += beta * logRatio(rejected);
    sums.right += logRatio(chosen) > logRatio(rejected) ? 1 : 0;
    sums.logprobChosen += chosen.logprob;
    sums.logprobRejected += rejected.logprob;
    const slope = (-beta * (s * sigmoid(logit) + (1 - s) * sigmoid(-logit))) / (1 - 2 * s) / pairs.length;
    return [slope * perToken(chosen), -slope * perToken(rejected)];
  });
  const mean = (sum: number): number => sum / pairs.length;
  return {
    loss: mean(sums.loss),
    slopes,
    metrics: {
      reward_chosen: mean(sums.chosen),
      reward_rejected: mean(sums.rejected),
      reward_margin: mean(sums.chosen - sums.rejected),
      reward_accuracy: mean(sums.right),
      logprob_chosen: mean(sums.logprobChosen),
      logprob_rejected: mean(sums.logprobRejected),
    },
  };
}

export function logRatio({ logprob, reference }: AnswerScore): number {
  return logprob - reference;
}
