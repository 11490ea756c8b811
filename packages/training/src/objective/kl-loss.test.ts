import { describe, expect, it } from "vitest";
import type { PolicySequence } from "../port.js";
import { klEstimate } from "./kl-loss.js";
import { finishMetrics } from "./metric-sums.js";
import { policyLoss } from "./policy-loss.js";
import { policySettings } from "./policy-settings.js";

const estimators = ["k1", "k3"] as const;
const current = [0.5, 0.3, 0.15, 0.05];
const reference = [0.2, 0.3, 0.4, 0.1];
const expectation = (of: (logprob: number, reference: number) => number): number =>
  current.reduce((sum, p, token) => sum + p * of(Math.log(p), Math.log(reference[token]!)), 0);

describe("the estimates of the divergence from a reference", () => {
  it("are the divergence on average, and k3 is never negative", () => {
    const divergence = expectation((logprob, other) => logprob - other);
    for (const estimator of estimators) {
      expect(expectation((logprob, other) => klEstimate(estimator, logprob, other).value)).toBeCloseTo(divergence, 12);
    }
    for (const d of [-3, -0.1, 0, 0.1, 3]) expect(klEstimate("k3", -1, -1 + d).value).toBeGreaterThanOrEqual(0);
    expect(klEstimate("k3", -1, -1)).toEqual({ value: 0, slope: 0 });
  });

  it("have the slope of their value, 0 where they are clamped", () => {
    for (const estimator of estimators) {
      for (const d of [-2, -0.3, 0.4, 2]) {
        const value = (logprob: number): number => klEstimate(estimator, logprob, -1 + d).value;
        const quotient = (value(-1 + 1e-6) - value(-1 - 1e-6)) / 2e-6;
        expect(klEstimate(estimator, -1, -1 + d).slope).toBeCloseTo(quotient, 6);
      }
      const far = klEstimate(estimator, -9000, 0);
      expect([Number.isFinite(far.value), far.slope]).toEqual([true, 0]);
    }
  });

  it("push softmax probabilities toward the reference with k3, and not at all with k1", () => {
    // dlogprob(token)/dlogit(j) = [token = j] - p(j), so the expected gradient by logit j is p(j) * (slope(j) - mean).
    const slopesOf = (estimator: "k1" | "k3"): number[] => {
      const slope = (token: number): number =>
        klEstimate(estimator, Math.log(current[token]!), Math.log(reference[token]!)).slope;
      const mean = current.reduce((sum, p, token) => sum + p * slope(token), 0);
      return current.map((p, token) => p * (slope(token) - mean));
    };
    for (const slope of slopesOf("k1")) expect(slope).toBeCloseTo(0, 12);
    // The gradient of KL(reference || current) by logit j is p(j) - reference(j).
    for (const [token, slope] of slopesOf("k3").entries())
      expect(slope).toBeCloseTo(current[token]! - reference[token]!, 12);
  });
});

describe("the policy loss with a KL term", () => {
  const length = 5;
  const numbers = (of: (t: number) => number): Float64Array => Float64Array.from({ length }, (_, t) => of(t));
  const sequence: PolicySequence = {
    tokens: new Int32Array(length),
    mask: Uint8Array.from([0, 1, 1, 0, 1]),
    weights: numbers((t) => 0.5 + t / 3),
    advantages: numbers((t) => (t % 2 ? 1 : -0.7)),
    oldLogprobs: numbers((t) => -1 - t / 7),
    rolloutLogprobs: numbers((t) => -1.3 - t / 9),
    referenceLogprobs: numbers((t) => (t === 3 ? NaN : -2 + t / 2)),
  };
  const logprobs = numbers((t) => -1.05 - t / 8);

  for (const ppo of [false, true]) {
    for (const estimator of estimators) {
      it(`is the loss without it plus coefficient * weight * estimate: ${ppo ? "PPO" : "CISPO"}, ${estimator}`, () => {
        const more = { ppo, truncatedImportanceSampling: 0.5, importanceSamplingLevel: "average" } as const;
        const without = policyLoss(sequence, logprobs, policySettings(more));
        const settings = policySettings({ ...more, klLoss: { coefficient: 0.2, estimator } });
        const found = policyLoss(sequence, logprobs, settings);
        const term = (values: Float64Array): number =>
          [1, 2, 4].reduce((sum, t) => {
            const d = sequence.referenceLogprobs![t]! - values[t]!;
            return sum + 0.2 * sequence.weights[t]! * (estimator === "k1" ? -d : Math.exp(d) - d - 1);
          }, 0);
        expect(found.loss - without.loss).toBeCloseTo(term(logprobs), 12);
        for (const t of [1, 2, 4]) {
          const shifted = (by: number): number => term(logprobs.with(t, logprobs[t]! + by));
          const quotient = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
          expect(found.gradient[t]! - without.gradient[t]!).toBeCloseTo(quotient, 7);
        }
        expect([found.gradient[0], found.gradient[3]]).toEqual([0, 0]);
        expect(finishMetrics(found.sums)).toHaveProperty("kl_loss");
        expect(finishMetrics(without.sums)).not.toHaveProperty("kl_loss");
      });
    }
  }

  it("needs the reference", () => {
    const { referenceLogprobs: _, ...rest } = sequence;
    const settings = policySettings({ klLoss: { coefficient: 1, estimator: "k3" } });
    expect(() => policyLoss(rest, logprobs, settings)).toThrow("referenceLogprobs has 0 entries for 5 tokens.");
  });
});
