import { array, assert, double, integer, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import { lossNormalizer, tokenWeights } from "./token-weights.js";

const trajectories = array(
  record({
    advantage: double({ min: -5, max: 5, noNaN: true }).filter((advantage) => Math.abs(advantage) > 1e-3),
    trainedTokens: integer({ min: 1, max: 500 }),
  }),
  { minLength: 1, maxLength: 20 },
);

describe("the weights of a job's tokens", () => {
  it("give a long trajectory the same total weight as a short one", () => {
    const [long, short] = tokenWeights(
      [
        { advantage: 1, trainedTokens: 30 },
        { advantage: -1, trainedTokens: 10 },
      ],
      0,
    );
    expect(30 * long!.weight).toBeCloseTo(10 * short!.weight, 5);
  });

  it("have mean 1, and so have the weighted sizes of the advantages", () => {
    assert(
      property(trajectories, double({ min: -0.9, max: 0.9, noNaN: true }), (each, balance) => {
        const scaled = tokenWeights(each, balance);
        const tokens = each.reduce((sum, { trainedTokens }) => sum + trainedTokens, 0);
        const mean = (of: (at: number) => number): number =>
          each.reduce((sum, { trainedTokens }, at) => sum + trainedTokens * of(at), 0) / tokens;
        expect(mean((at) => scaled[at]!.weight)).toBeCloseTo(1, 9);
        expect(mean((at) => Math.abs(scaled[at]!.advantage) * scaled[at]!.weight)).toBeCloseTo(1, 9);
      }),
    );
  });

  it("make the loss independent of the size of rewards", () => {
    assert(
      property(trajectories, double({ min: 1e-3, max: 1e3, noNaN: true }), (each, factor) => {
        const plain = tokenWeights(each, 0.3);
        const scaled = tokenWeights(
          each.map(({ advantage, trainedTokens }) => ({ advantage: advantage * factor, trainedTokens })),
          0.3,
        );
        for (const [at, { advantage }] of plain.entries()) {
          expect(scaled[at]!.advantage / advantage).toBeCloseTo(1, 9);
        }
      }),
    );
  });

  it("train only positive advantages at balance 1, only negative ones at -1", () => {
    const both = [
      { advantage: 2, trainedTokens: 4 },
      { advantage: -1, trainedTokens: 4 },
    ];
    expect(tokenWeights(both, 1).map(({ advantage }) => advantage)).toEqual([expect.closeTo(2, 6), -0]);
    expect(tokenWeights(both, -1).map(({ advantage }) => advantage)).toEqual([0, expect.closeTo(-2, 6)]);
    const half = tokenWeights(both, 0.5).map(({ advantage }) => advantage);
    expect(half[0]! / half[1]!).toBeCloseTo(-4, 9);
  });

  it("are 1 for the other aggregations, whose advantages are balanced and not scaled", () => {
    const both = [
      { advantage: 2, trainedTokens: 40 },
      { advantage: -1, trainedTokens: 4 },
    ];
    for (const name of ["token_mean", "constant_length"] as const) {
      expect(tokenWeights(both, 0.5, name)).toEqual([
        { weight: 1, advantage: 2 },
        { weight: 1, advantage: -0.5 },
      ]);
    }
    const size = { sequences: 2, trainedTokens: 44 };
    expect(lossNormalizer({ name: "per_sequence" }, size)).toBe(44);
    expect(lossNormalizer({ name: "token_mean" }, size)).toBe(44);
    expect(lossNormalizer({ name: "constant_length", length: 64 }, size)).toBe(128);
  });

  it("count the tokens of turns with advantages of their own, within the weight of their trajectory", () => {
    const [first, second, other] = tokenWeights(
      [
        { advantage: 3, trainedTokens: 10, tokens: 4 },
        { advantage: -1, trainedTokens: 10, tokens: 6 },
        { advantage: 1, trainedTokens: 5 },
      ],
      0,
    );
    expect(first!.weight).toBe(second!.weight);
    expect(10 * first!.weight).toBeCloseTo(5 * other!.weight, 5);
    expect(4 * first!.weight + 6 * second!.weight + 5 * other!.weight).toBeCloseTo(15, 9);
    const sizes = [4 * first!.advantage * first!.weight, 6 * second!.advantage * second!.weight];
    expect(Math.abs(sizes[0]!) + Math.abs(sizes[1]!) + 5 * other!.advantage * other!.weight).toBeCloseTo(15, 9);
  });

  it("do not divide by zero", () => {
    expect(tokenWeights([], 0)).toEqual([]);
    expect(tokenWeights([{ advantage: 1, trainedTokens: 0 }], 0)).toEqual([{ weight: 0, advantage: 1 }]);
    expect(tokenWeights([{ advantage: -1, trainedTokens: 5 }], 1)).toEqual([{ weight: 1, advantage: -0 }]);
  });
});
