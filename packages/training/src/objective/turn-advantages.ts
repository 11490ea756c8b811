import type { GroupAdvantages } from "./group-advantages.js";
import { groupAdvantages } from "./group-advantages.js";

/**
 * Computes the advantages of the turns of a group from rewards of single turns: process supervision as in DeepSeekMath
 * (section 4.1.3). All rewards of the group are compared with each other by `groupAdvantages`; the advantage of a turn is the sum of those of its own and all later turns of its history, so
 * that a turn is judged by what follows from it.
 *
 * @param histories rewards by history and element; undefined for elements without one, which add nothing.
 * @returns advantages by history and element; all 0 if the rewards are equal.
 */
export function turnAdvantages(
  histories: readonly (readonly (number | undefined)[])[],
  scaleRewards: boolean,
): Pick<GroupAdvantages, "trainable"> & { advantages: number[][] } {
  const rewards = histories.flat().filter((reward) => reward !== undefined);
  const own = groupAdvantages(rewards, scaleRewards);
  let next = 0;
  const advantages = histories.map((history) => {
    const ofElements = history.map((reward) => (reward === undefined ? 0 : (own.advantages[next++] ?? 0)));
    let later = 0;
    return ofElements
      .toReversed()
      .map((advantage) => (later += advantage))
      .toReversed();
  });
  return { advantages, trainable: own.trainable };
}
