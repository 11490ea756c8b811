export interface TrajectoryScale {
  /** Advantage relative to the group. */
  advantage: number;
  /** Trained tokens over all histories of the trajectory. */
  trainedTokens: number;
  /** How many of them have this advantage, where turns have advantages of their own. Absent: all. */
  tokens?: number;
}

/** How the losses of tokens are added up to that of a gradient step. */
export type LossAggregation = { name: "per_sequence" | "token_mean" } | { name: "constant_length"; length: number };

/**
 * Returns the number that the weighted sum of token losses of a step is divided by: the tokens of the step, or for
 * `constant_length` its sequences times the length, so that neither long nor short answers change the weight of a token.
 */
export function lossNormalizer(
  aggregation: LossAggregation,
  { sequences, trainedTokens }: { sequences: number; trainedTokens: number },
): number {
  return aggregation.name === "constant_length" ? sequences * aggregation.length : trainedTokens;
}

/**
 * Computes the weight and advantage of the trained tokens of each trajectory, for `per_sequence` normalised over all
 * trained tokens of a job:
 *
 * - weight `1 / (tokens + 1e-6)`, so that each trajectory counts equally regardless of its length; then mean 1 per
 *   token;
 * - `balance` b in [-1, 1] scales the advantages that are not positive by `1 - b` (b > 0), or those that are not
 *   negative by `1 + b` (b < 0): 1 trains only on good trajectories, -1 only on bad ones;
 * - then mean `|advantage| * weight` 1 per token, so that the effect of a learning rate does not depend on the scale
 *   of rewards.
 *
 * Trajectories without trained tokens get weight 0. If every advantage is 0, they stay 0.
 *
 * For the other aggregations each token has weight 1, and advantages are balanced only. With m trained tokens in a step
 * of n sequences, `lossNormalizer` then makes its loss the one of DAPO, `sum(l) / m` (`token_mean`), or of Dr. GRPO,
 * `sum(l) / (n * length)` (`constant_length`).
 */
export function tokenWeights(
  trajectories: TrajectoryScale[],
  balance: number,
  aggregation: LossAggregation["name"] = "per_sequence",
): { weight: number; advantage: number }[] {
  if (aggregation !== "per_sequence")
    return trajectories.map(({ advantage }) => ({ weight: 1, advantage: balanced(advantage, balance) }));
  const counts = trajectories.map(({ trainedTokens, tokens = trainedTokens }) => tokens);
  const tokens = counts.reduce((sum, count) => sum + count, 0);
  const raw = trajectories.map(({ trainedTokens }) => (trainedTokens > 0 ? 1 / (trainedTokens + 1e-6) : 0));
  const meanWeight = mean(counts.map((count, at) => count * (raw[at] ?? 0)));
  const scaled = trajectories.map(({ advantage }, at) => ({
    weight: meanWeight > 0 ? (raw[at] ?? 0) / meanWeight : 0,
    advantage: balanced(advantage, balance),
  }));
  const size = mean(scaled.map(({ weight, advantage }, at) => (counts[at] ?? 0) * Math.abs(advantage) * weight));
  if (size === 0) return scaled;
  return scaled.map(({ weight, advantage }) => ({ weight, advantage: advantage / size }));

  function mean(sums: number[]): number {
    return tokens > 0 ? sums.reduce((sum, each) => sum + each, 0) / tokens : 0;
  }
}

function balanced(advantage: number, balance: number): number {
  if (balance > 0 && advantage <= 0) return advantage * (1 - balance);
  if (balance < 0 && advantage >= 0) return advantage * (1 + balance);
  return advantage;
}
