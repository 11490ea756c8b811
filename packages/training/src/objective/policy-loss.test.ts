import { describe, expect, it } from "vitest";
import type { PolicySequence, PolicySettings } from "../port.js";
import { finishMetrics } from "./metric-sums.js";
import { policyLoss } from "./policy-loss.js";
import { policySettings } from "./policy-settings.js";

/** Seeded uniform numbers in [0, 1). */
function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Independent computation of the ratios before cap and mask. `held` values are treated as constants. */
function ratiosByDefinition(
  sequence: PolicySequence,
  settings: PolicySettings,
  logprobs: Float64Array,
  held: Float64Array,
): number[] {
  const trained = [...sequence.mask.keys()].filter((t) => sequence.mask[t]);
  const difference = (t: number): number => logprobs[t]! - oldByDefinition(sequence, held, t);
  const conversations = new Map(
    trained
      .map((t) => sequence.segments?.[t])
      .map((segment) => {
        const peers = trained.filter((t) => sequence.segments?.[t] === segment);
        return [segment, Math.exp(peers.reduce((sum, t) => sum + difference(t), 0) / peers.length)];
      }),
  );
  return [...sequence.mask.keys()].map((t) => {
    const token = Math.exp(difference(t));
    const conversation = conversations.get(sequence.segments?.[t])!;
    if (settings.importanceSamplingLevel === "token") return token;
    if (settings.importanceSamplingLevel === "sequence") return conversation;
    return settings.importanceSamplingLevel === "average"
      ? (token + conversation) / 2
      : Math.sqrt(token) * Math.sqrt(conversation);
  });
}

const oldByDefinition = (sequence: PolicySequence, held: Float64Array, t: number): number =>
  Number.isNaN(sequence.oldLogprobs[t]!) ? held[t]! : sequence.oldLogprobs[t]!;

function lossByDefinition(
  sequence: PolicySequence,
  settings: PolicySettings,
  logprobs: Float64Array,
  held: Float64Array,
): number {
  const band = (x: number): number => Math.max(1 - settings.epsilon, Math.min(1 + settings.epsilonHigh, x));
  const modified = (ratio: number): number => {
    const rho = Math.min(ratio, settings.maxNegativeAdvantageImportanceSamplingWeight ?? Infinity);
    const inside = rho > 1 - settings.epsilon && rho < 1 + settings.epsilonHigh;
    return settings.maskProbRatio && !inside ? 0 : rho;
  };
  const ratios = ratiosByDefinition(sequence, settings, logprobs, held).map(modified);
  const heldRatios = ratiosByDefinition(sequence, settings, held, held).map(modified);
  let loss = 0;
  for (const t of sequence.mask.keys()) {
    if (!sequence.mask[t]) continue;
    const old = oldByDefinition(sequence, held, t);
    const advantage = sequence.advantages[t]! - (settings.k2Tau ?? 0) * (held[t]! - old);
    const rho = ratios[t]!;
    let term = settings.ppo
      ? -Math.min(rho * advantage, band(rho) * advantage)
      : -band(heldRatios[t]!) * advantage * logprobs[t]!;
    if (settings.truncatedImportanceSampling !== undefined) {
      const original = sequence.rolloutLogprobs?.[t];
      const stale = original === undefined ? heldRatios[t]! : Number.isNaN(original) ? 1 : Math.exp(old - original);
      term *= Math.min(stale, settings.truncatedImportanceSampling);
    }
    loss += term * sequence.weights[t]!;
  }
  return loss;
}

type Knowledge = "known" | "partly" | "unknown";

/** Eight tokens of two segments, advantages of both signs, far enough from every kink for a difference quotient. */
function pointAwayFromKinks(
  { settings, knowledge, segmented, original }: Combination,
  seed: number,
): { sequence: PolicySequence; logprobs: Float64Array } {
  const random = uniform(seed);
  const length = 8;
  for (let attempt = 0; attempt < 1000; attempt++) {
    const fill = (make: (t: number) => number): Float64Array => Float64Array.from({ length }, (_, t) => make(t));
    const logprobs = fill(() => -0.1 - 3 * random());
    const spread = random() < 0.5 ? 0.5 : 3;
    const near = (): Float64Array => logprobs.map((logprob) => logprob + spread * (random() - 0.6));
    const sequence: PolicySequence = {
      tokens: new Int32Array(length),
      mask: Uint8Array.from({ length }, (_, t) => (t > 0 && t !== 5 ? 1 : 0)),
      weights: fill(() => 0.2 + random()),
      advantages: fill((t) => (t % 2 ? 1 : -1) * (0.2 + random())),
      oldLogprobs: near().map((old, t) =>
        knowledge === "unknown" || (knowledge === "partly" && t % 3 === 0) ? NaN : old,
      ),
    };
    if (original) sequence.rolloutLogprobs = near().map((each, t) => (t === 4 ? NaN : each));
    if (segmented) sequence.segments = Int32Array.from({ length }, (_, t) => (t < 4 ? 1 : 2));
    const kinks = [
      1 - settings.epsilon,
      1 + settings.epsilonHigh,
      settings.maxNegativeAdvantageImportanceSamplingWeight ?? Infinity,
    ];
    const ratios = ratiosByDefinition(sequence, settings, logprobs, logprobs);
    const clear = ratios.every((ratio, t) => !sequence.mask[t] || kinks.every((kink) => Math.abs(ratio - kink) > 1e-3));
    if (clear) return { sequence, logprobs };
  }
  throw new Error("no point found");
}

const levels = ["token", "sequence", "average", "geometric_average"] as const;

interface Combination {
  settings: PolicySettings;
  knowledge: Knowledge;
  segmented: boolean;
  original: boolean;
}

function combinations(fixed: Pick<PolicySettings, "ppo" | "importanceSamplingLevel">): Combination[] {
  const cross = <A extends object, B extends object>(left: A[], right: B[]): (A & B)[] =>
    left.flatMap((a) => right.map((b) => ({ ...a, ...b })));
  const settings = cross(
    cross(
      cross([{}, { epsilon: 0.3, epsilonHigh: 0.5 }], [{ maskProbRatio: false }, { maskProbRatio: true }]),
      cross([{}, { maxNegativeAdvantageImportanceSamplingWeight: 1.15 }], [{}, { k2Tau: 0.4 }]),
    ),
    [{}, { truncatedImportanceSampling: 0.9 }],
  ).map((each) => ({ settings: policySettings({ ...fixed, ...each }) }));
  const data = cross(
    cross(
      [{ knowledge: "known" as const }, { knowledge: "partly" as const }, { knowledge: "unknown" as const }],
      [{ segmented: false }, { segmented: true }],
    ),
    [{ original: false }, { original: true }],
  );
  return cross(settings, data);
}

describe("the policy loss", () => {
  for (const ppo of [false, true]) {
    for (const importanceSamplingLevel of levels) {
      it(`has the gradient of its definition: ${ppo ? "PPO" : "CISPO"}, ${importanceSamplingLevel}`, () => {
        let worst = 0;
        let clipped = 0;
        let moving = 0;
        for (const [seed, combination] of combinations({ ppo, importanceSamplingLevel }).entries()) {
          const { settings } = combination;
          const { sequence, logprobs } = pointAwayFromKinks(combination, seed);
          const { loss, gradient, sums } = policyLoss(sequence, logprobs, settings);
          expect(loss).toBeCloseTo(lossByDefinition(sequence, settings, logprobs, logprobs), 11);
          const size = Math.max(0.1, ...gradient.map(Math.abs));
          for (const t of sequence.mask.keys()) {
            if (!sequence.mask[t]) continue;
            const shifted = (by: number): number =>
              lossByDefinition(sequence, settings, logprobs.with(t, logprobs[t]! + by), logprobs);
            const quotient = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            worst = Math.max(worst, Math.abs(quotient - gradient[t]!) / size);
          }
          clipped += sums["clipped"] ?? 0;
          moving += gradient.filter((slope) => slope !== 0).length;
        }
        expect(worst).toBeLessThan(1e-7);
        // Both branches of the clipping were covered.
        expect(clipped).toBeGreaterThan(300);
        expect(moving).toBeGreaterThan(300);
      });
    }
  }

  const onPolicy = (advantage: number, length = 4): PolicySequence => ({
    tokens: new Int32Array(length),
    mask: Uint8Array.from({ length }, (_, t) => (t > 0 ? 1 : 0)),
    weights: new Float64Array(length).fill(1),
    advantages: new Float64Array(length).fill(advantage),
    oldLogprobs: Float64Array.from({ length }, (_, t) => (t > 0 ? -t / 2 : NaN)),
  });

  it("is the policy gradient on policy for every objective and level, with and without old log-probabilities", () => {
    for (const ppo of [false, true]) {
      for (const importanceSamplingLevel of levels) {
        for (const known of [false, true]) {
          const sequence = onPolicy(-0.7);
          const logprobs = sequence.oldLogprobs.slice();
          if (!known) sequence.oldLogprobs.fill(NaN);
          const { gradient, sums } = policyLoss(sequence, logprobs, policySettings({ ppo, importanceSamplingLevel }));
          expect([...gradient]).toEqual([0, 0.7, 0.7, 0.7].map((each) => expect.closeTo(each, 12)));
          expect(finishMetrics(sums)).toMatchObject({
            importance_ratio_mean: 1,
            importance_ratio_std: 0,
            clip_fraction: 0,
          });
        }
      }
    }
  });

  it("ignores log-probabilities of tokens that are not trained", () => {
    const sequence = onPolicy(1);
    const logprobs = sequence.oldLogprobs.slice();
    const { loss, gradient } = policyLoss(sequence, logprobs, policySettings({}));
    expect(loss).toBeCloseTo(0.5 + 1 + 1.5, 12);
    expect(gradient[0]).toBe(0);
  });

  it("clips a token with a positive advantage that has become much more likely, but not one with a negative advantage", () => {
    const settings = policySettings({ ppo: true });
    const logprobs = new Float64Array([NaN, -0.1, -0.1, -0.1]);
    expect([...policyLoss(onPolicy(1), logprobs, settings).gradient]).toEqual([0, 0, 0, 0]);
    const bad = policyLoss(onPolicy(-1), logprobs, settings).gradient;
    expect(bad[1]).toBeCloseTo(Math.exp(-0.1 + 0.5), 12);
  });

  it("caps positive advantages as well", () => {
    const settings = policySettings({ maxNegativeAdvantageImportanceSamplingWeight: 1.5 });
    const { gradient, sums } = policyLoss(onPolicy(1), new Float64Array([NaN, -0.5, -0.1, -1.5]), settings);
    expect(gradient[1]).toBeCloseTo(-1, 12);
    expect(gradient[2]).toBeCloseTo(-1.5, 12);
    expect(finishMetrics(sums)["clip_fraction"]).toBeCloseTo(1 / 3, 12);
  });

  it("stays finite with extreme old log-probabilities", () => {
    const sequence = onPolicy(-1);
    sequence.oldLogprobs.set([NaN, -8000, -8000, 0]);
    for (const ppo of [false, true]) {
      const { loss, gradient, sums } = policyLoss(
        sequence,
        new Float64Array([NaN, -1, -1, -9000]),
        policySettings({ ppo, importanceSamplingLevel: "average" }),
      );
      expect([loss, ...gradient].every(Number.isFinite)).toBe(true);
      expect(Object.values(finishMetrics(sums)).every(Number.isFinite)).toBe(true);
    }
  });

  it("refuses arrays of another length, and NaN log-probabilities", () => {
    const sequence = onPolicy(1);
    const logprobs = sequence.oldLogprobs;
    expect(() => policyLoss({ ...sequence, advantages: new Float64Array(3) }, logprobs, policySettings({}))).toThrow(
      "advantages has 3 entries for 4 tokens.",
    );
    expect(() => policyLoss(sequence, new Float64Array(4).fill(NaN), policySettings({}))).toThrow(
      "The log-probability of token 1 is NaN",
    );
  });
});

describe("the defaults of the clipping band", () => {
  it("are wide for CISPO, narrow and symmetric for PPO", () => {
    expect(policySettings({})).toMatchObject({ epsilon: 1, epsilonHigh: 4 });
    expect(policySettings({ epsilon: 0.5 })).toMatchObject({ epsilon: 0.5, epsilonHigh: 4 });
    expect(policySettings({ ppo: true })).toMatchObject({ epsilon: 0.2, epsilonHigh: 0.2 });
    expect(policySettings({ ppo: true, epsilon: 0.1 })).toMatchObject({ epsilon: 0.1, epsilonHigh: 0.1 });
    expect(policySettings({ ppo: true, epsilonHigh: 0.28 })).toMatchObject({ epsilon: 0.2, epsilonHigh: 0.28 });
  });
  it("treat a limit of 0 as none", () => {
    const settings = policySettings({
      k2Tau: 0,
      truncatedImportanceSampling: 0,
      maxNegativeAdvantageImportanceSamplingWeight: 0,
    });
    expect(Object.keys(settings).toSorted()).toEqual([
      "epsilon",
      "epsilonHigh",
      "importanceSamplingLevel",
      "maskProbRatio",
      "ppo",
    ]);
  });
});
