import type { Rollout } from "@heddle/client/training";

export const rolloutOrders = ["group", "reward", "advantage"] as const;
export type RolloutOrder = (typeof rolloutOrders)[number];

/** What a group of rollouts comes to. */
export interface GroupSum {
  group: number;
  count: number;
  mean: number;
  least: number;
  greatest: number;
  /** Rewards that are all equal: nothing is learned from it. */
  isEqual: boolean;
}

export function groupsOf(rollouts: readonly Pick<Rollout, "group" | "reward">[]): Map<number, GroupSum> {
  const groups = new Map<number, GroupSum>();
  for (const { group, reward } of rollouts) {
    const of = groups.get(group) ?? { group, count: 0, mean: 0, least: reward, greatest: reward, isEqual: true };
    of.mean = (of.mean * of.count + reward) / (of.count + 1);
    of.count++;
    of.least = Math.min(of.least, reward);
    of.greatest = Math.max(of.greatest, reward);
    of.isEqual = of.least === of.greatest;
    groups.set(group, of);
  }
  return groups;
}

/** Within a group, and under another order in all, the greatest first. */
export function ordered(rollouts: readonly Rollout[], order: RolloutOrder): Rollout[] {
  const inPlace = (a: Rollout, b: Rollout) => a.group - b.group || a.index - b.index;
  if (order === "advantage") return rollouts.toSorted((a, b) => b.advantage - a.advantage || inPlace(a, b));
  if (order === "reward") return rollouts.toSorted((a, b) => b.reward - a.reward || inPlace(a, b));
  return rollouts.toSorted((a, b) => a.group - b.group || b.reward - a.reward || a.index - b.index);
}

/** Why nothing of a rollout is trained, in words. */
export const skippedWords: Record<NonNullable<Rollout["skipped"]>, string> = {
  no_advantage: "no advantage: the mean of its group",
  no_choices: "messages only, nothing was sampled",
  no_logprobs: "no log-probabilities",
  no_tokens: "no tokens",
  tool_calls: "tool calls without recorded tokens",
  template: "the chat template does not render it",
  too_long: "too long to be trained",
  excluded: "says itself that it is not trained",
  truncated: "cut off at its limit of tokens",
  held_out: "held out for evaluation",
  off_policy: "sampled by weights that are too old",
  equal_answers: "both answers of the pair are equal",
  empty_answer: "an empty answer would be preferred",
};
