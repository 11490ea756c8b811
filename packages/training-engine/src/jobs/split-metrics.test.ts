import { describe, expect, it } from "vitest";
import { groupMetrics } from "./split-metrics.js";

const trajectory = (reward: number, metrics: Record<string, number | boolean> = {}) => ({ reward, metrics });

describe("the metrics of submitted groups", () => {
  it("are means over trajectories, over groups, and of the groups' own spreads", () => {
    const metrics = groupMetrics([
      {
        trajectories: [trajectory(1, { correct: true, turns: 3 }), trajectory(0, { correct: false })],
        exceptions: ["x"],
        metrics: { hard: 2 },
      },
      { trajectories: [trajectory(0.5, { reward: 99 })], exceptions: [], metrics: { hard: 4 } },
      { trajectories: [], exceptions: ["y"], metrics: { hard: 99 } },
    ]);
    expect(metrics).toEqual({
      reward: 0.5,
      exception_rate: 2 / 5,
      correct: 0.5,
      turns: 3,
      group_hard: 3,
      reward_std_dev: 0.5,
    });
  });

  it("leave out means of nothing", () => {
    expect(groupMetrics([])).toEqual({ reward_std_dev: 0 });
    expect(groupMetrics([{ trajectories: [], exceptions: [1], metrics: {} }])).toEqual({
      exception_rate: 1,
      reward_std_dev: 0,
    });
  });
});
