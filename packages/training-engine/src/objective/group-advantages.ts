export interface GroupAdvantages {
  /** One per trajectory of the group; exactly 0 means: nothing to learn from it. */
  advantages: number[];
  /** More than one trajectory, and their rewards differ by more than 1e-12. */
  trainable: boolean;
}

/** Rewards closer than this are equal: the mean of equal numbers is not always exactly one of them. */
const sameReward = 1e-12;

/**
 * How much better each trajectory did than its group: `R - mean(R)`, divided by the population standard deviation
 * (+ 1e-6) with `scaleRewards`. A group that is not trainable has only zeros. Rewards are finite, at most 1e100 in size.
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

/** Population standard deviation; 0 for no rewards. */
export function rewardDeviation(rewards: number[]): number {
  if (rewards.length === 0) return 0;
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  return Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards.length);
}
