import { describe, expect, test } from "vitest";
import { locOf } from "@heddle/errors/testing";
import { isEmptyGroup, readTrajectoryGroups } from "./groups.js";

const trajectory = { messages_and_choices: [{ role: "user", content: "hello" }], reward: 1 };

describe("trajectory groups", () => {
  test("are read with all fields that clients send", () => {
    const tools = [{ type: "function", function: { name: "f" } }];
    const groups = readTrajectoryGroups([
      {
        trajectories: [
          {
            ...trajectory,
            tools,
            additional_histories: [{ messages_and_choices: [], tools: null, extra: 1 }],
            auto_metrics: { duration: 2, right: false },
            metrics: { duration: 3, won: true },
            metadata: { scenario_id: "a", missing: null },
            initial_policy_version: 4,
            final_policy_version: null,
            logs: ["x"],
            start_time: "2026-01-01T00:00:00",
          },
        ],
        metrics: { share: 0.5 },
        metadata: null,
      },
      { trajectories: [], exceptions: [{ type: "E", message: "m", traceback: "t" }] },
    ]);
    expect(groups).toEqual([
      {
        loc: [0],
        exceptions: 0,
        metrics: { share: 0.5 },
        metadata: {},
        trajectories: [
          {
            loc: [0, "trajectories", 0],
            reward: 1,
            metrics: { duration: 3, right: 0, won: 1 },
            metadata: { scenario_id: "a", missing: null },
            initialPolicyVersion: 4,
            finalPolicyVersion: undefined,
            histories: [
              {
                loc: [0, "trajectories", 0],
                messagesAndChoices: trajectory.messages_and_choices,
                tools,
              },
              {
                loc: [0, "trajectories", 0, "additional_histories", 0],
                messagesAndChoices: [],
                tools: null,
              },
            ],
          },
        ],
      },
      { loc: [1], exceptions: 1, metrics: {}, metadata: {}, trajectories: [] },
    ]);
  });

  test.each([undefined, null])("a reward that is %s is 0", (reward) => {
    const [group] = readTrajectoryGroups([{ trajectories: [{ ...trajectory, reward }] }]);
    expect(group?.trajectories).toMatchObject([{ reward: 0 }]);
  });

  test("an empty group beside others is read", () => {
    const groups = readTrajectoryGroups([{ trajectories: [] }, { trajectories: [trajectory] }]);
    expect(groups.map(isEmptyGroup)).toEqual([true, false]);
  });

  test("flags hold for all that is inside, until something inside says otherwise", () => {
    const elements = [{ role: "user" }, { role: "assistant" }];
    const history = { messages_and_choices: elements };
    const flagsIn = (group: object, first: object = {}) =>
      readTrajectoryGroups([
        {
          ...group,
          trajectories: [{ ...history, ...first, additional_histories: [history, { ...history, train: true }] }],
        },
      ]).flatMap(({ trajectories }) =>
        trajectories.flatMap(({ histories }) => histories.map(({ flags }) => flags?.[1])),
      );
    expect(flagsIn({})).toEqual([undefined, undefined, true]);
    expect(flagsIn({ weight: 0 })).toEqual([false, false, true]);
    expect(flagsIn({}, { trainable: false })).toEqual([false, false, true]);
    expect(flagsIn({ train: false }, { loss_mask: 1 })).toEqual([true, true, true]);
    expect(flagsIn({ train: false }, { loss_mask: [0, 1] })).toEqual([true, false, true]);
  });

  const withTrajectory = (change: object): unknown => [{ trajectories: [trajectory, { ...trajectory, ...change }] }];
  test.each([
    ["no list", {}, ""],
    ["a group that is none", [null], "0"],
    ["trajectories that are none", [{ trajectories: { 0: trajectory } }], "0.trajectories"],
    ["only empty groups that nothing explains", [{ trajectories: [] }, { trajectories: [] }], "0.trajectories"],
    ["a mask of tokens", withTrajectory({ loss_mask: [0, 0, 1, 1] }), "0.trajectories.1.loss_mask"],
    [
      "a mask that is no flag",
      withTrajectory({ messages_and_choices: [{ role: "assistant", mask: 0 }] }),
      "0.trajectories.1.messages_and_choices.0.mask",
    ],
    ["a group that is trained in part", [{ trajectories: [trajectory], weight: 0.5 }], "0.weight"],
    ["a trained part", withTrajectory({ weight: 0.5 }), "0.trajectories.1.weight"],
    ["flags that differ", withTrajectory({ train: true, trainable: false }), "0.trajectories.1.trainable"],
    ["exceptions that are none", [{ trajectories: [], exceptions: "all" }], "0.exceptions"],
    ["a trajectory that is none", [{ trajectories: ["x"] }], "0.trajectories.0"],
    ["a reward that is NaN", withTrajectory({ reward: Number.NaN }), "0.trajectories.1.reward"],
    ["an infinite reward", withTrajectory({ reward: Number.POSITIVE_INFINITY }), "0.trajectories.1.reward"],
    ["a reward in words", withTrajectory({ reward: "1" }), "0.trajectories.1.reward"],
    ["a metric that is NaN", withTrajectory({ metrics: { a: Number.NaN } }), "0.trajectories.1.metrics.a"],
    ["metrics that are none", withTrajectory({ metrics: [1] }), "0.trajectories.1.metrics"],
    [
      "a fractional policy version",
      withTrajectory({ initial_policy_version: 1.5 }),
      "0.trajectories.1.initial_policy_version",
    ],
    [
      "messages that are none",
      withTrajectory({ messages_and_choices: "hello" }),
      "0.trajectories.1.messages_and_choices",
    ],
    [
      "histories that are none",
      withTrajectory({ additional_histories: [[]] }),
      "0.trajectories.1.additional_histories.0",
    ],
  ])("refused with its location: %s", (_, groups, path) => {
    expect(() => readTrajectoryGroups(groups)).toThrow(
      expect.objectContaining({ name: "HeddleError", code: "invalid", loc: locOf(path) }),
    );
  });
});
