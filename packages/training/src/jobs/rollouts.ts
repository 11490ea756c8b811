import type { Loc } from "@heddle/errors";
import { HeddleError, withLoc } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";
import { groupAdvantages } from "../objective/group-advantages.js";
import { trainedTokens } from "../objective/trained-tokens.js";
import { turnAdvantages } from "../objective/turn-advantages.js";
import { finiteAt } from "../trajectories/field-checks.js";
import type { Trajectory, TrajectoryGroup } from "../trajectories/groups.js";
import { trajectorySequences } from "../trajectories/sequences.js";
import type { Reason } from "../trajectories/turns.js";
import { yieldToEventLoop } from "./training-job.js";
import type { Rollout } from "./policy-job.js";
import type { RlConfig } from "./rl-config.js";

/** What a trajectory contributes to the training. */
export interface RolloutSummary {
  /** Index of its group. */
  group: number;
  /** Index in its group. */
  index: number;
  reward: number;
  metrics: Record<string, number>;
  /** Relative to its group, without those of its turns. */
  advantage: number;
  /** Of all its sequences; null where they were not needed, because nothing of it is trained. */
  tokens: number | null;
  trainedTokens: number;
  /** Why nothing of it is trained. */
  skipped?: "no_advantage" | Reason["code"];
}

export interface Rollouts {
  rollouts: Rollout[];
  /** Number of groups whose rewards differ. */
  trainableGroups: number;
  /** Number of trajectories with an advantage but without a trainable token. */
  droppedTrajectories: number;
  /** Number of untrainable parts of trajectories by reason. */
  reasons: Map<Reason["code"], number>;
}

/** Reasons that nothing of the data is wrong for. */
const harmless: ReadonlySet<Reason["code"]> = new Set(["too_long", "excluded", "truncated", "off_policy"]);

/** Maximum absolute reward; the squares of larger ones would overflow. */
const maxReward = 1e100;

/**
 * Reads the sequences of all trajectories with an advantage, and calls `onRollout` for each trajectory. Throws `invalid` if rewards differ but no sampled token is
 * in the data. Trajectories that are only too long are dropped and counted.
 */
export async function readRollouts(
  groups: TrajectoryGroup[],
  { scaleRewards, turnRewards }: Pick<RlConfig, "scaleRewards" | "turnRewards">,
  options: Parameters<typeof trajectorySequences>[1],
  { signal, onRollout }: { signal?: AbortSignal | undefined; onRollout?: (rollout: RolloutSummary) => void } = {},
): Promise<Rollouts> {
  const found: Rollouts = { rollouts: [], trainableGroups: 0, droppedTrajectories: 0, reasons: new Map() };
  let first: Reason | undefined;
  for (const [group, { trajectories }] of groups.entries()) {
    for (const { reward, loc } of trajectories) checkReward(reward, [...loc, "reward"]);
    const rewards = trajectories.map(({ reward }) => reward);
    const { advantages, trainable } = groupAdvantages(rewards, scaleRewards);
    const turns = turnRewards ? advantagesOfTurns(trajectories, scaleRewards) : undefined;
    if (trainable || turns) found.trainableGroups++;
    for (const [at, trajectory] of trajectories.entries()) {
      const advantage = advantages[at] ?? 0;
      const { reward, metrics } = trajectory;
      const summary = { group, index: at, reward, metrics, advantage };
      const ofTurns = turns?.[at];
      if (advantage === 0 && !ofTurns?.flat().some((each) => each !== 0)) {
        onRollout?.({ ...summary, tokens: null, trainedTokens: 0, skipped: "no_advantage" });
        continue;
      }
      await yieldToEventLoop(signal);
      const { sequences, reasons } = await withLoc(["groups"], () =>
        trajectorySequences(trajectory, { ...options, ...(ofTurns && { turnAdvantages: ofTurns }) }),
      );
      for (const reason of reasons) {
        found.reasons.set(reason.code, (found.reasons.get(reason.code) ?? 0) + 1);
        if (!harmless.has(reason.code)) first ??= reason;
      }
      const trained = sequences.filter((sequence) => !sequence.tooLong && trainedTokens(sequence) > 0);
      if (trained.length > 0) found.rollouts.push({ group, advantage, sequences: trained });
      else found.droppedTrajectories++;
      onRollout?.({
        ...summary,
        tokens: sequences.reduce((sum, { tokens }) => sum + tokens.length, 0),
        trainedTokens: trained.reduce((sum, sequence) => sum + trainedTokens(sequence), 0),
        ...(trained.length === 0 && { skipped: reasons[0]?.code ?? "no_choices" }),
      });
    }
  }
  if (found.rollouts.length === 0 && first) {
    const counts = [...found.reasons].map(([code, count]) => `${code}: ${count}`).join(", ");
    const message = `Rewards differ, but no sampled token can be trained (${counts}). The first reason: ${first.message}`;
    throw new HeddleError("invalid", message, { loc: ["groups", ...first.loc] });
  }
  return found;
}

/** Advantages by trajectory, history and element; undefined if the rewards of turns do not differ. */
function advantagesOfTurns(trajectories: Trajectory[], scaleRewards: boolean): number[][][] | undefined {
  const rewards = trajectories.flatMap(({ histories }) =>
    histories.map(({ loc, messagesAndChoices }) =>
      messagesAndChoices.map((element, index) => readReward(element, [...loc, "messages_and_choices", index])),
    ),
  );
  const { advantages, trainable } = turnAdvantages(rewards, scaleRewards);
  if (!trainable) return undefined;
  let next = 0;
  return trajectories.map(({ histories }) => histories.map(() => advantages[next++] ?? []));
}

/** The reward that a choice, or a message of the assistant, has itself. */
function readReward(element: unknown, loc: Loc): number | undefined {
  const given = isJsonObject(element) ? (element["reward"] ?? undefined) : undefined;
  if (given === undefined) return undefined;
  const reward = withLoc(["groups"], () => finiteAt(given, [...loc, "reward"]));
  checkReward(reward, [...loc, "reward"]);
  return reward;
}

function checkReward(reward: number, loc: Loc): void {
  if (Number.isFinite(reward) && Math.abs(reward) <= maxReward) return;
  throw new HeddleError(
    "invalid",
    `The reward ${reward} is not a finite number of at most ${maxReward} in magnitude.`,
    {
      loc: ["groups", ...loc],
    },
  );
}
