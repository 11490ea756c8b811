import { describe, expect, it } from "vitest";
import { optimizerDefaults, scheduledLearningRate } from "./optimizer-defaults.js";

describe("the defaults of the optimizer", () => {
  it("are large for the starter and small for other models", () => {
    for (const toy of ["heddle/starter", "random:tiny"]) {
      expect(optimizerDefaults(toy, "rl")).toMatchObject({
        learningRate: 5e-4,
        beta1: 0.9,
        beta2: 0.95,
        maxGradientNorm: 1,
      });
      expect(optimizerDefaults(toy, "sft")).toMatchObject({ learningRate: 3e-3, warmUpSteps: 5, finalFraction: 0.05 });
    }
    expect(optimizerDefaults("dir:qwen", "rl")).toMatchObject({
      learningRate: 5e-6,
      beta2: 0.99,
      weightDecay: 0.1,
      maxGradientNorm: 0.1,
    });
    expect(optimizerDefaults("dir:qwen", "sft")).toMatchObject({
      learningRate: 5e-5,
      weightDecay: 0.01,
      maxGradientNorm: 1,
    });
  });

  it("warm up, then decay to their final fraction", () => {
    const rates = [...Array(25).keys()].map((step) =>
      scheduledLearningRate(optimizerDefaults("heddle/starter", "sft"), step, 25),
    );
    expect(rates[0]).toBeCloseTo(3e-3 / 6, 12);
    expect(Math.max(...rates)).toBe(rates[5]);
    expect(rates[5]).toBeCloseTo(3e-3, 12);
    expect(rates.at(-1)).toBeCloseTo(1.5e-4, 12);
  });

  it("apply to jobs shorter than the warm-up, and are constant for other models", () => {
    const short = [0, 1].map((step) => scheduledLearningRate(optimizerDefaults("heddle/starter", "sft"), step, 2));
    expect(short).toEqual([expect.closeTo(1.5e-3, 12), expect.closeTo(3e-3, 12)]);
    expect(scheduledLearningRate(optimizerDefaults("heddle/starter", "sft"), 0, 1)).toBe(3e-3);
    const real = optimizerDefaults("dir:qwen", "sft");
    expect([0, 1, 9].map((step) => scheduledLearningRate(real, step, 10))).toEqual([5e-5, 5e-5, 5e-5]);
  });
});
