import { describe, expect, it } from "vitest";
import { optimizerSteps } from "./optimizer-steps.js";
import { seededOrder } from "./seeded-order.js";

/** A sequence with a prompt of the group's own tokens and trained tokens after it. */
const sequence = (group: number, prompt: number, trained: number) => ({
  group,
  sequence: {
    tokens: Int32Array.from({ length: prompt + trained }, (_, t) => (t < prompt ? group : 100 + t)),
    mask: Uint8Array.from({ length: prompt + trained }, (_, t) => (t < prompt ? 0 : 1)),
  },
});

describe("the division of a job into optimizer steps", () => {
  const sequences = [0, 0, 0, 1, 1, 1, 2, 2, 2].map((group) => sequence(group, 20, 10));

  it("contains every sequence once, in the same order for the same seed", () => {
    const steps = optimizerSteps(sequences, 7, { tokensPerStep: 90 });
    expect(steps.flat().toSorted((a, b) => a - b)).toEqual([...sequences.keys()]);
    expect(optimizerSteps(sequences, 7, { tokensPerStep: 90 })).toEqual(steps);
    expect(
      [1, 2, 3, 4].some(
        (seed) => JSON.stringify(optimizerSteps(sequences, seed, { tokensPerStep: 90 })) !== JSON.stringify(steps),
      ),
    ).toBe(true);
  });

  it("counts the prompt that a group shares once", () => {
    // 20 + 3 x 10 = 50 tokens for a group.
    const groups = optimizerSteps(sequences, 7, { tokensPerStep: 50 }).map((step) =>
      step.map((at) => sequences[at]?.group),
    );
    expect(groups.toSorted((a, b) => (a[0] ?? 0) - (b[0] ?? 0))).toEqual([
      [0, 0, 0],
      [1, 1, 1],
      [2, 2, 2],
    ]);
    expect(optimizerSteps(sequences, 7, { tokensPerStep: 49 })).toHaveLength(6);
  });

  it("makes one step of a small job, and one for a sequence above the limit", () => {
    expect(optimizerSteps(sequences, 7)).toHaveLength(1);
    expect(optimizerSteps([sequence(0, 20, 10), sequence(0, 2000, 100)], 7)).toHaveLength(1);
    expect(optimizerSteps(sequences.slice(0, 2), 7, { tokensPerStep: 1 })).toHaveLength(2);
    expect(optimizerSteps([], 7)).toEqual([]);
  });

  it("limits the sequences of a step, and passes over all of them in another order", () => {
    const once = optimizerSteps(sequences, 7, { sequencesPerStep: 2 });
    expect(once.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([1, 2, 2, 2, 2]);
    const thrice = optimizerSteps(sequences, 7, { sequencesPerStep: 2, passes: 3 });
    expect(thrice.slice(0, 5)).toEqual(once);
    const passes = [0, 5, 10].map((from) => thrice.slice(from, from + 5));
    for (const pass of passes) expect(pass.flat().toSorted((a, b) => a - b)).toEqual([...sequences.keys()]);
    expect(new Set(passes.map((pass) => JSON.stringify(pass))).size).toBe(3);
  });
});

describe("a seeded order", () => {
  it("draws every position about equally often", () => {
    const draws = seededOrder(3);
    const firsts = new Map<number, number>();
    for (let each = 0; each < 6000; each++) {
      const [first = -1] = draws.shuffled([0, 1, 2]);
      firsts.set(first, (firsts.get(first) ?? 0) + 1);
    }
    for (const count of firsts.values()) expect(Math.abs(count - 2000)).toBeLessThan(150);
    expect(firsts.size).toBe(3);
  });
});
