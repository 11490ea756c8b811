import { array, assert, boolean, double, integer, pre, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { groupAdvantages } from "./group-advantages.js";

const rewards = array(double({ min: -100, max: 100, noNaN: true }), { minLength: 1, maxLength: 12 });

describe("the advantages of a group", () => {
  it("are rewards relative to the group's mean, in standard deviations", () => {
    expect(groupAdvantages([1, 0, 0, 1], false)).toEqual({ advantages: [0.5, -0.5, -0.5, 0.5], trainable: true });
    const { advantages } = groupAdvantages([1, 0, 0, 1], true);
    expect(advantages[0]).toBeCloseTo(0.5 / (0.5 + 1e-6), 12);
  });

  it("are exactly zero for equal rewards, also if their mean is rounded", () => {
    expect(0.1 + 0.1 + 0.1).not.toBe(0.3);
    expect(groupAdvantages([0.1, 0.1, 0.1], true)).toEqual({ advantages: [0, 0, 0], trainable: false });
    expect(groupAdvantages([3], true)).toEqual({ advantages: [0], trainable: false });
    expect(groupAdvantages([], true)).toEqual({ advantages: [], trainable: false });
  });

  it("sum to zero, and do not change when every reward is shifted", () => {
    assert(
      property(rewards, integer({ min: -50, max: 50 }), boolean(), (each, shift, scale) => {
        const { advantages, trainable } = groupAdvantages(each, scale);
        expect(advantages.reduce((sum, advantage) => sum + advantage, 0)).toBeCloseTo(0, 6);
        const spread = Math.max(...each) - Math.min(...each);
        pre(!scale || spread > 1e-3);
        const shifted = groupAdvantages(
          each.map((reward) => reward + shift),
          scale,
        );
        if (trainable && spread > 1e-3) {
          for (const [at, advantage] of advantages.entries()) expect(shifted.advantages[at]).toBeCloseTo(advantage, 6);
        }
      }),
    );
  });

  it("stay finite for huge rewards", () => {
    expect(groupAdvantages([1e100, -1e100, 0], true).advantages.every(Number.isFinite)).toBe(true);
  });
});
