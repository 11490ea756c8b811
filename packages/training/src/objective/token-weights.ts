export interface TrajectoryScale {
  /** Advantage relative to the group, not 0. */
  advantage: number;
  /** Trained tokens over all histories of the trajectory. */
  trainedTokens: number;
}

/**
 * Computes the weight and advantage of the trained tokens of each trajectory, normalised over all trained tokens of a
 * job:
 *
 * - weight `1 / (tokens + 1e-6)`, so that each trajectory counts equally regardless of its length; then mean 1 per
 *   token;
 * - `balance` b in [-1, 1] scales the advantages that are not positive by `1 - b` (b > 0), or those that are not
 *   negative by `1 + b` (b < 0): 1 trains only on good trajectories, -1 only on bad ones;
 * - then mean `|advantage| * weight` 1 per token, so that the effect of a learning rate does not depend on the scale
 *   of rewards.
 *
 * Trajectories without trained tokens get weight 0. If every advantage is 0, they stay 0.
 */
export function tokenWeights(
  trajectories: TrajectoryScale[],
  balance: number,
): { weight: number; advantage: number }[] {
  const tokens = trajectories.reduce((sum, { trainedTokens }) => sum + trainedTokens, 0);
  const raw = trajectories.map(({ trainedTokens }) => (trainedTokens > 0 ? 1 / (trainedTokens + 1e-6) : 0));
  const meanWeight = mean(trajectories.map(({ trainedTokens }, at) => trainedTokens * (raw[at] ?? 0)));
  const scaled = trajectories.map(({ advantage }, at) => ({
    weight: meanWeight > 0 ? (raw[at] ?? 0) / meanWeight : 0,
    advantage: balanced(advantage, balance),
  }));
  const size = mean(
    scaled.map(({ weight, advantage }, at) => (trajectories[at]?.trainedTokens ?? 0) * Math.abs(advantage) * weight),
  );
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
