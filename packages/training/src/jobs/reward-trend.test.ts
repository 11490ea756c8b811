import { describe, expect, it } from "vitest";
import { rewardTrendFactor } from "./reward-trend.js";

const at = (...values: number[]) => values.map((value, step) => ({ step, value }));

describe("the learning rate's factor from the spread of rewards", () => {
  it("is the end of the fitted line relative to its start", () => {
    expect(rewardTrendFactor(at(0.4, 0.3, 0.2))).toBeCloseTo(0.5, 12);
    expect(rewardTrendFactor(at(0.2, 0.2))).toBeCloseTo(1, 12);
  });
  it("is 1 without a trend, and never negative", () => {
    expect(rewardTrendFactor([])).toBe(1);
    expect(rewardTrendFactor(at(0.3))).toBe(1);
    expect(
      rewardTrendFactor([
        { step: 3, value: 1 },
        { step: 3, value: 2 },
      ]),
    ).toBe(1);
    expect(rewardTrendFactor(at(0, 0.5, 1))).toBe(1);
    expect(
      rewardTrendFactor([
        { step: 0, value: 1 },
        { step: 1, value: 0 },
        { step: 9, value: -9 },
      ]),
    ).toBe(0);
  });
});
