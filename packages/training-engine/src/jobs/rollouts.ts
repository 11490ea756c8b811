import { EngineError } from "../engine-error.js";
import { groupAdvantages } from "../objective/group-advantages.js";
import { trainedTokens } from "../objective/trained-tokens.js";
import type { TrajectoryGroup } from "../trajectories/groups.js";
import { trajectorySequences } from "../trajectories/sequences.js";
import type { Reason } from "../trajectories/turns.js";
import { yieldToEventLoop } from "./training-job.js";
import type { Rollout } from "./policy-job.js";

export interface Rollouts {
  rollouts: Rollout[];
  /** Groups whose rewards differ. */
  trainableGroups: number;
  /** Trajectories that have an advantage, but no token to be trained. */
  droppedTrajectories: number;
  /** Why parts of trajectories are not trained, by kind. */
  reasons: Map<Reason["code"], number>;
}

/** Larger rewards are mistakes, and their squares would not be numbers. */
const maxReward = 1e100;

/**
 * The sequences of all trajectories that there is something to learn from. `invalid` when rewards differ but nothing can be
 * trained because what was sampled is not in the data; trajectories that are merely too long are dropped and counted.
 */
export async function readRollouts(
  groups: TrajectoryGroup[],
  scaleRewards: boolean,
  options: Parameters<typeof trajectorySequences>[1],
  signal?: AbortSignal,
): Promise<Rollouts> {
  const found: Rollouts = { rollouts: [], trainableGroups: 0, droppedTrajectories: 0, reasons: new Map() };
  let first: Reason | undefined;
  for (const [group, { trajectories }] of groups.entries()) {
    for (const { reward, path } of trajectories) {
      if (Number.isFinite(reward) && Math.abs(reward) <= maxReward) continue;
      throw new EngineError("invalid", `A reward of ${reward} is not a number to learn from.`, `${path}.reward`);
    }
    const rewards = trajectories.map(({ reward }) => reward);
    const { advantages, trainable } = groupAdvantages(rewards, scaleRewards);
    if (trainable) found.trainableGroups++;
    for (const [at, trajectory] of trajectories.entries()) {
      const advantage = advantages[at] ?? 0;
      if (advantage === 0) continue;
      await yieldToEventLoop(signal);
      const { sequences, reasons } = await trajectorySequences(trajectory, options);
      for (const reason of reasons) {
        found.reasons.set(reason.code, (found.reasons.get(reason.code) ?? 0) + 1);
        if (reason.code !== "too_long") first ??= reason;
      }
      const trained = sequences.filter((sequence) => !sequence.exceedsContext && trainedTokens(sequence) > 0);
      if (trained.length > 0) found.rollouts.push({ group, advantage, sequences: trained });
      else found.droppedTrajectories++;
    }
  }
  if (found.rollouts.length === 0 && first) {
    const counts = [...found.reasons].map(([code, count]) => `${code}: ${count}`).join(", ");
    const message = `Rewards differ, but no sampled token can be trained (${counts}). The first reason: ${first.message}`;
    throw new EngineError("invalid", message, first.path);
  }
  return found;
}
