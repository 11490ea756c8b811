import { describe, expect, it } from "vitest";
import { addProbability, addSums, finishMetrics, probabilitySums } from "./metric-sums.js";

describe("metrics of several sequences", () => {
  it("are the same for sequences summed together or separately", () => {
    const pairs = [
      [-0.1, -0.2],
      [-1, -0.7],
      [-3, -3.1],
      [-0.4, -0.5],
    ] as const;
    const together = probabilitySums();
    for (const [sampled, current] of pairs) addProbability(together, sampled, current);
    const apart = {};
    for (const [sampled, current] of pairs) {
      const sums = probabilitySums();
      addProbability(sums, sampled, current);
      addSums(apart, sums);
    }
    const x = pairs.map(([sampled]) => Math.exp(sampled));
    const y = pairs.map(([, current]) => Math.exp(current));
    const mean = (values: number[]): number => values.reduce((a, b) => a + b) / values.length;
    const covariance = (a: number[], b: number[]): number =>
      mean(a.map((each, at) => (each - mean(a)) * (b[at]! - mean(b))));
    const correlation = covariance(x, y) / Math.sqrt(covariance(x, x) * covariance(y, y));
    expect(finishMetrics(together)["probs_corr"]).toBeCloseTo(correlation, 10);
    expect(finishMetrics(apart)["probs_corr"]).toBeCloseTo(correlation, 10);
  });

  it("omit metrics without a value", () => {
    const same = probabilitySums();
    for (let each = 0; each < 3; each++) addProbability(same, -0.1, -0.1);
    expect(finishMetrics(same)).toEqual({ trained_tokens: 0 });
    expect(finishMetrics({})).toEqual({ trained_tokens: 0 });
    expect(finishMetrics({ trainedTokens: 2, ratio: Infinity, ratioSquared: Infinity, clipped: 0 })).toEqual({
      trained_tokens: 2,
      clip_fraction: 0,
    });
  });
});
