import { describe, expect, it } from "vitest";
import type { LearningRateSchedule } from "./learning-rate-schedule.js";
import { scheduleFactor } from "./learning-rate-schedule.js";

const factors = (schedule: Partial<LearningRateSchedule>, steps: number, count = steps): number[] =>
  Array.from({ length: count }, (_, index) =>
    scheduleFactor({ shape: "constant", warmUpSteps: 0, finalFraction: 0, ...schedule }, index, steps),
  );
const close = (values: number[]): unknown[] => values.map((value) => expect.closeTo(value, 12));

describe("the learning rate of a schedule", () => {
  it("is constant, falls in a line or in half a cosine", () => {
    expect(factors({}, 4)).toEqual([1, 1, 1, 1]);
    expect(factors({ shape: "linear" }, 4)).toEqual(close([1, 0.75, 0.5, 0.25]));
    expect(factors({ shape: "cosine" }, 4)).toEqual(close([1, (1 + Math.SQRT1_2) / 2, 0.5, (1 - Math.SQRT1_2) / 2]));
  });

  it("rises before it falls, and every step changes something", () => {
    expect(factors({ shape: "linear", warmUpSteps: 3 }, 7)).toEqual(close([0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25]));
    expect(factors({ warmUpSteps: 1 }, 3)).toEqual(close([0.5, 1, 1]));
    expect(factors({ shape: "cosine", warmUpSteps: 9 }, 3)).toEqual(close([0.1, 0.2, 0.3]));
  });

  it("ends at the final fraction, and stays there", () => {
    expect(factors({ shape: "linear", finalFraction: 0.5 }, 2, 4)).toEqual(close([1, 0.75, 0.5, 0.5]));
    expect(factors({ shape: "cosine", finalFraction: 0.1 }, 2, 4)).toEqual(close([1, 0.55, 0.1, 0.1]));
    expect(factors({ shape: "linear", warmUpSteps: 2 }, 2, 3)).toEqual(close([1 / 3, 2 / 3, 0]));
  });
});
