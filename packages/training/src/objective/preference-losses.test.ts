import { describe, expect, it } from "vitest";
import type { AnswerScore, DpoSettings } from "./dpo-loss.js";
import { dpoLoss } from "./dpo-loss.js";
import type { KtoSettings } from "./kto-loss.js";
import { ktoLoss } from "./kto-loss.js";

const answer = (logprob: number, reference: number, tokens = 4): AnswerScore => ({ logprob, reference, tokens });
const dpo = (change: Partial<DpoSettings> = {}): DpoSettings => ({
  name: "dpo",
  beta: 0.5,
  labelSmoothing: 0,
  lengthNormalization: false,
  ...change,
});
const kto = (change: Partial<KtoSettings> = {}): KtoSettings => ({
  name: "kto",
  beta: 0.5,
  desirableWeight: 1,
  undesirableWeight: 1,
  ...change,
});
const pairs = [
  { chosen: answer(-4, -5, 3), rejected: answer(-9, -7, 6) },
  { chosen: answer(-6, -4), rejected: answer(-3, -3.5, 2) },
];
const ratings = [
  { answer: answer(-4, -5), desirable: true },
  { answer: answer(-6, -4), desirable: false },
  { answer: answer(-2, -3), desirable: false },
];
const others = [answer(-3, -4), answer(-5, -5.5)];

const step = 1e-5;

describe("the derivative of a preference loss", () => {
  it.each([dpo(), dpo({ labelSmoothing: 0.2 }), dpo({ lengthNormalization: true, beta: 3 })])(
    "is its slope by each log-probability: %o",
    (settings) => {
      const moved = (pair: number, which: "chosen" | "rejected", by: number) => {
        const changed = pairs.map((each, at) =>
          at === pair ? { ...each, [which]: { ...each[which], logprob: each[which].logprob + by } } : each,
        );
        return dpoLoss(changed, settings).loss;
      };
      const { slopes } = dpoLoss(pairs, settings);
      for (const [pair] of pairs.entries()) {
        for (const [at, which] of (["chosen", "rejected"] as const).entries()) {
          const slope = (moved(pair, which, step) - moved(pair, which, -step)) / (2 * step);
          expect(slopes[pair]?.[at]).toBeCloseTo(slope, 8);
        }
      }
    },
  );

  it.each([kto(), kto({ desirableWeight: 0.3, undesirableWeight: 2 })])("is its slope: %o", (settings) => {
    const moved = (rating: number, by: number) => {
      const changed = ratings.map((each, at) =>
        at === rating ? { ...each, answer: { ...each.answer, logprob: each.answer.logprob + by } } : each,
      );
      return ktoLoss(changed, others, settings).loss;
    };
    const { slopes } = ktoLoss(ratings, others, settings);
    for (const [rating] of ratings.entries()) {
      const slope = (moved(rating, step) - moved(rating, -step)) / (2 * step);
      expect(slopes[rating]?.[0]).toBeCloseTo(slope, 8);
    }
  });
});

describe("a preference loss", () => {
  it("is finite for answers that the model would never give", () => {
    const far = dpoLoss([{ chosen: answer(-1e6, 0), rejected: answer(0, -1e6) }], dpo());
    expect(far.loss).toBeCloseTo(1e6, 3);
    expect(far.slopes[0]).toEqual([-0.5, 0.5]);
  });

  it("takes a divergence below 0 as none", () => {
    expect(ktoLoss(ratings, [answer(-9, -1)], kto()).metrics["kl"]).toBe(0);
    expect(ktoLoss(ratings, [], kto()).metrics["kl"]).toBe(0);
    expect(ktoLoss(ratings, others, kto()).metrics["kl"]).toBe(0.75);
  });

  it("is the loss of the true order on average, where labels are wrong as often as they are smoothed", () => {
    const [pair] = pairs;
    const flipped = { chosen: pair!.rejected, rejected: pair!.chosen };
    const settings = dpo({ labelSmoothing: 0.2 });
    const expected = 0.8 * dpoLoss([pair!], settings).loss + 0.2 * dpoLoss([flipped], settings).loss;
    expect(expected).toBeCloseTo(dpoLoss([pair!], dpo()).loss, 12);
  });
});
