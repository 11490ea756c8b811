import { HeddleError, withLoc } from "@heddle/errors";
import { groupAdvantages } from "../objective/group-advantages.js";
import { trainedTokens } from "../objective/trained-tokens.js";
import type { TrajectoryGroup } from "../trajectories/groups.js";
import { trajectorySequences } from "../trajectories/sequences.js";
import type { Reason } from "../trajectories/turns.js";
import { yieldToEventLoop } from "./training-job.js";
import type { Rollout } from "./policy-job.js";

export interface Rollouts {
  rollouts: Rollout[];
  /** Number of groups whose rewards differ. */
  trainableGroups: number;
  /** Number of trajectories with an advantage but without a trainable token. */
  droppedTrajectories: number;
  /** Number of untrainable parts of trajectories by reason. */
  reasons: Map<Reason["code"], number>;
}

/** Maximum absolute reward; the squares of larger ones would overflow. */
const maxReward = 1e100;

/**
 * Reads the sequences of all trajectories with an advantage. Throws `invalid` if rewards differ but no sampled token is
 * in the data. Trajectories that are only too long are dropped and counted.
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
    for (const { reward, loc } of trajectories) {
      if (Number.isFinite(reward) && Math.abs(reward) <= maxReward) continue;
      throw new HeddleError(
        "invalid",
        `The reward ${reward} is not a finite number of at most ${maxReward} in magnitude.`,
        { loc: ["groups", ...loc, "reward"] },
      );
    }
    const rewards = trajectories.map(({ reward }) => reward);
    const { advantages, trainable } = groupAdvantages(rewards, scaleRewards);
    if (trainable) found.trainableGroups++;
    for (const [at, trajectory] of trajectories.entries()) {
      const advantage = advantages[at] ?? 0;
      if (advantage === 0) continue;
      await yieldToEventLoop(signal);
      const { sequences, reasons } = await withLoc(["groups"], () => trajectorySequences(trajectory, options));
      for (const reason of reasons) {
        found.reasons.set(reason.code, (found.reasons.get(reason.code) ?? 0) + 1);
        if (reason.code !== "too_long" && reason.code !== "excluded") first ??= reason;
      }
      const trained = sequences.filter((sequence) => !sequence.tooLong && trainedTokens(sequence) > 0);
      if (trained.length > 0) found.rollouts.push({ group, advantage, sequences: trained });
      else found.droppedTrajectories++;
    }
  }
  if (found.rollouts.length === 0 && first) {
    const counts = [...found.reasons].map(([code, count]) => `${code}: ${count}`).join(", ");
    const message = `Rewards differ, but no sampled token can be trained (${counts}). The first reason: ${first.message}`;
    throw new HeddleError("invalid", message, { loc: ["groups", ...first.loc] });
  }
  return found;
}
