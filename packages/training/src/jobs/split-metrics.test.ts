import { describe, expect, it } from "vitest";
import { splitMetrics } from "./split-metrics.js";

const trajectory = (reward: number, metrics: Record<string, number | boolean> = {}) => ({
  messages_and_choices: [{ role: "user", content: "?" }],
  reward,
  metrics,
});
const exception = { type: "TimeoutError", message: "too slow", traceback: "" };

describe("the metrics of submitted groups", () => {
  it("are means over trajectories, over groups, and of the standard deviations of groups", () => {
    const groups = [
      {
        trajectories: [trajectory(1, { correct: true, turns: 3 }), trajectory(0, { correct: false })],
        exceptions: [exception],
        metrics: { hard: 2 },
      },
      { trajectories: [trajectory(0.5, { reward: 99 })], metrics: { hard: 4 } },
      { trajectories: [], exceptions: [exception], metrics: { hard: 99 } },
    ];
    const metrics = splitMetrics({ trajectory_groups: groups, split: "val" });
    expect(metrics).toEqual({
      "val/reward": 0.5,
      "val/exception_rate": 2 / 5,
      "val/correct": 0.5,
      "val/turns": 3,
      "val/group_hard": 3,
      "val/reward_std_dev": 0.5,
    });
  });

  it("omit means over no values", () => {
    expect(splitMetrics({ trajectory_groups: [], split: "train" })).toEqual({ "train/reward_std_dev": 0 });
    const failed = [{ trajectories: [], exceptions: [exception] }];
    expect(splitMetrics({ trajectory_groups: failed, split: "train" })).toEqual({
      "train/exception_rate": 1,
      "train/reward_std_dev": 0,
    });
  });

  it("name the location of a reward that is not a number", () => {
    const groups = [{ trajectories: [trajectory(1), trajectory(NaN)] }];
    expect(() => splitMetrics({ trajectory_groups: groups, split: "val" })).toThrow(
      expect.objectContaining({ code: "invalid", loc: ["trajectory_groups", 0, "trajectories", 1, "reward"] }),
    );
  });
});
