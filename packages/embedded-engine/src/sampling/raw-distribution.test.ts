import * as fc from "fast-check";
import { expect, test } from "vitest";
import { rawDistribution } from "./raw-distribution.js";

const rows = fc.array(
  fc.integer({ min: -20, max: 20 }).map((value) => value / 4),
  { minLength: 1, maxLength: 90 },
);

test("log-probabilities are those of the softmax, at any offset", () => {
  fc.assert(
    fc.property(rows, fc.nat(5), (logits, offset) => {
      const raw = rawDistribution(
        Float32Array.from([...Array.from({ length: offset }, () => 9), ...logits]),
        offset,
        logits.length,
      );
      const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0);
      logits.forEach((logit, token) => expect(raw.logprob(token)).toBeCloseTo(logit - Math.log(sum), 10));
    }),
  );
});

test("alternatives come most likely first, with the rank each token has", () => {
  fc.assert(
    fc.property(rows, fc.integer({ min: -1, max: 100 }), (logits, count) => {
      const raw = rawDistribution(Float32Array.from(logits), 0, logits.length);
      const order = logits.map((_, token) => token).toSorted((a, b) => logits[b]! - logits[a]! || a - b);
      const best = raw.best(count);
      expect(best.map(({ token }) => token)).toEqual(count < 0 ? order : order.slice(0, count));
      for (const { token, rank, logprob } of best) {
        expect(rank).toBe(1 + logits.filter((logit) => logit > logits[token]!).length);
        expect(rank).toBe(raw.rank(token));
        expect(logprob).toBe(raw.logprob(token));
      }
    }),
  );
});

test("logits far apart neither overflow nor underflow", () => {
  const raw = rawDistribution(Float32Array.of(1e4, -1e4), 0, 2);
  expect(raw.logprob(0)).toBe(0);
  expect(raw.logprob(1)).toBe(-2e4);
});
