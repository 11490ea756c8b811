import { describe, expect, it } from "vitest";
import { klPenalty } from "./kl-penalty.js";

const sequence = (mask: number[], advantages: number[], logprobs: number[], reference: number[]) => ({
  mask: Uint8Array.from(mask),
  advantages: Float64Array.from(advantages),
  logprobs: Float64Array.from(logprobs),
  reference: Float64Array.from(reference),
});

describe("the KL penalty", () => {
  it("lowers the advantage of tokens further from the reference than the mean, and raises that of the others", () => {
    const { advantages, mean } = klPenalty(
      [
        sequence([0, 1, 1], [9, 1, 1], [NaN, -0.5, -1], [NaN, -1.5, -1]),
        sequence([0, 1, 0], [0, -1, 0], [NaN, -2, NaN], [NaN, -1.5, NaN]),
      ],
      0.1,
    );
    expect(mean).toBeCloseTo((1 + 0 - 0.5) / 3, 12);
    expect([...advantages[0]!]).toEqual(
      [9, 1 + 0.1 * (mean - 1), 1 + 0.1 * mean].map((each) => expect.closeTo(each, 12)),
    );
    const before = 1 + 1 - 1;
    expect(advantages[0]![1]! + advantages[0]![2]! + advantages[1]![1]!).toBeCloseTo(before, 12);
  });

  it("is zero without trained tokens", () => {
    const { advantages, mean } = klPenalty([sequence([0], [1], [NaN], [NaN])], 1);
    expect(mean).toBe(0);
    expect([...advantages[0]!]).toEqual([1]);
  });
});
