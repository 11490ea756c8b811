import { rewardDeviation } from "./group-advantages.js";

/** Maximum difference of rewards that count as equal, as for whole trajectories. */
const sameReward = 1e-12;

/**
 * Computes the advantages of the turns of a group from rewards of single turns: process supervision as in DeepSeekMath
 * (section 4.1.3). All rewards of the group are compared with each other, `(r - mean(r)) / (std(r) + 1e-6)`, not divided
 * without `scaleRewards`; the advantage of a turn is the sum of those of its own and all later turns of its history, so
 * that a turn is judged by what follows from it.
 *
 * @param histories rewards by history and element; undefined for elements without one, which add nothing.
 * @returns advantages by history and element; all 0 if the rewards are equal.
 */
export function turnAdvantages(
  histories: readonly (readonly (number | undefined)[])[],
  scaleRewards: boolean,
): { advantages: number[][]; trainable: boolean } {
  const rewards = histories.flat().filter((reward) => reward !== undefined);
  const [lowest, highest] = rewards.reduce(
    ([low, high], reward) => [Math.min(low, reward), Math.max(high, reward)],
    [Infinity, -Infinity],
  );
  const trainable = rewards.length > 1 && highest - lowest > sameReward;
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const scale = scaleRewards ? rewardDeviation(rewards) + 1e-6 : 1;
  const advantages = histories.map((history) => {
    let later = 0;
    return history
      .toReversed()
      .map((reward) => (later += trainable && reward !== undefined ? (reward - mean) / scale : 0))
      .toReversed();
  });
  return { advantages, trainable };
}
