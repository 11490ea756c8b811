export interface GroupAdvantages {
  /** One per trajectory of the group. Exactly 0 for trajectories without training signal. */
  advantages: number[];
  /** Whether there is more than one reward, and they differ by more than 1e-12. */
  trainable: boolean;
}

/** Maximum difference of rewards that count as equal: the mean of equal numbers is not always exactly one of them. */
const sameReward = 1e-12;

/**
 * Computes the advantages of a group: `R - mean(R)`, divided by the population standard deviation (+ 1e-6) with
 * `scaleRewards`. They are 0 if the group is not trainable. Rewards are finite, at most 1e100 in magnitude.
 */
export function groupAdvantages(rewards: number[], scaleRewards: boolean): GroupAdvantages {
  let lowest = Infinity;
  let highest = -Infinity;
  for (const reward of rewards) {
    lowest = Math.min(lowest, reward);
    highest = Math.max(highest, reward);
  }
  if (rewards.length < 2 || highest - lowest <= sameReward) {
    return { advantages: rewards.map(() => 0), trainable: false };
  }
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const scale = scaleRewards ? rewardDeviation(rewards) + 1e-6 : 1;
  return { advantages: rewards.map((reward) => (reward - mean) / scale), trainable: true };
}

/** Returns the population standard deviation; 0 for no rewards. */
export function rewardDeviation(rewards: number[]): number {
  if (rewards.length === 0) return 0;
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  return Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards.length);
}
