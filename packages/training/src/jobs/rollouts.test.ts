import { describe, expect, it } from "vitest";
import { choice, model, user } from "../../test/chat-histories.js";
import { readTrajectoryGroups } from "../trajectories/groups.js";
import type { RolloutSummary } from "./rollouts.js";
import { readRollouts } from "./rollouts.js";

const turns = (rewards: unknown[]) =>
  rewards.flatMap((reward) => [user("hello"), choice("yes<|im_end|>", reward === undefined ? {} : { reward })]);
const read = async (trajectories: unknown[], settings: { scaleRewards: boolean; turnRewards?: boolean }) => {
  const summaries: RolloutSummary[] = [];
  const found = await readRollouts(
    readTrajectoryGroups([{ trajectories }]),
    settings,
    { template: model },
    { onRollout: (rollout) => void summaries.push(rollout) },
  );
  return { ...found, summaries };
};

describe("rewards of single turns", () => {
  const trajectories = [
    { reward: 1, messages_and_choices: turns([0, 3]) },
    { reward: 1, messages_and_choices: turns([undefined, 0]) },
  ];

  it("are trained with what follows from each turn, although the trajectories have equal rewards", async () => {
    const { rollouts, trainableGroups, summaries } = await read(trajectories, {
      scaleRewards: false,
      turnRewards: true,
    });
    expect(trainableGroups).toBe(1);
    const advantages = rollouts.map(({ advantage, sequences: [sequence] }) => [
      advantage,
      ...[...sequence!.mask.keys()].flatMap((t) => (sequence!.mask[t] ? (sequence!.turnAdvantages?.[t] ?? 0) : [])),
    ]);
    expect(advantages).toEqual([
      [0, 1, 1, 2, 2],
      [0, -1, -1, -1, -1],
    ]);
    expect(summaries).toMatchObject([
      { advantage: 0, trainedTokens: 4 },
      { advantage: 0, trainedTokens: 4 },
    ]);
  });

  it("are not read unless they are asked for", async () => {
    const { rollouts, summaries } = await read(trajectories, { scaleRewards: false });
    expect(rollouts).toEqual([]);
    expect(summaries).toMatchObject([{ skipped: "no_advantage" }, { skipped: "no_advantage" }]);
    const wrong = [{ reward: 1, messages_and_choices: turns(["much"]) }];
    await read(wrong, { scaleRewards: false });
    await expect(read(wrong, { scaleRewards: false, turnRewards: true })).rejects.toMatchObject({
      code: "invalid",
      message: "reward must be a finite number, is a string",
      loc: ["groups", 0, "trajectories", 0, "messages_and_choices", 1, "reward"],
    });
    const huge = [{ reward: 1, messages_and_choices: turns([1e200]) }];
    await expect(read(huge, { scaleRewards: false, turnRewards: true })).rejects.toThrow("at most 1e+100 in magnitude");
  });
});
