import * as fc from "fast-check";
import { expect, test } from "vitest";
import { drawToken, argmax } from "./draw.js";
import type { Truncation } from "./truncation.js";
import { truncatedWeights } from "./truncation.js";

const all: Truncation = { temperature: 1, topK: 0, topP: 1, minP: 0 };

/** Shares of the tokens after truncation. */
function shares(logits: number[], settings: Partial<Truncation>): number[] {
  const weights = Float64Array.from(logits);
  const sum = truncatedWeights(weights, { ...all, ...settings });
  return [...weights].map((weight) => weight / sum);
}
const kept = (logits: number[], settings: Partial<Truncation>) =>
  shares(logits, settings).flatMap((share, token) => (share > 0 ? [token] : []));
const softmax = (logits: number[], temperature = 1) => {
  const exps = logits.map((logit) => Math.exp(logit / temperature));
  const sum = exps.reduce((a, b) => a + b);
  return exps.map((value) => value / sum);
};

// Few different values, so that equal logits occur.
const someLogits = fc.array(
  fc.integer({ min: -12, max: 12 }).map((value) => value / 3),
  { minLength: 1, maxLength: 40 },
);

test("without truncation the distribution is the softmax at the temperature", () => {
  fc.assert(
    fc.property(someLogits, fc.double({ min: 0.2, max: 5, noNaN: true }), (logits, temperature) => {
      const wanted = softmax(logits, temperature);
      shares(logits, { temperature }).forEach((share, token) => expect(share).toBeCloseTo(wanted[token]!, 10));
    }),
  );
});

test("top_k keeps exactly the k most likely tokens, of equal ones the first", () => {
  fc.assert(
    fc.property(someLogits, fc.integer({ min: 1, max: 50 }), (logits, topK) => {
      const wanted = logits.map((_, token) => token).toSorted((a, b) => logits[b]! - logits[a]! || a - b);
      expect(kept(logits, { topK })).toEqual(wanted.slice(0, topK).toSorted((a, b) => a - b));
    }),
  );
});

test("top_p keeps the fewest most likely tokens that reach the share", () => {
  fc.assert(
    fc.property(someLogits, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (logits, topP) => {
      const probabilities = softmax(logits);
      const tokens = kept(logits, { topP });
      const mass = tokens.reduce((sum, token) => sum + probabilities[token]!, 0);
      const least = Math.min(...tokens.map((token) => probabilities[token]!));
      const most = Math.max(0, ...probabilities.filter((_, token) => !tokens.includes(token)));
      expect(mass).toBeGreaterThan(topP - 1e-9);
      expect(mass - least).toBeLessThan(topP + 1e-9);
      expect(most).toBeLessThan(least + 1e-12);
    }),
  );
});

test("of a large vocabulary top_k and top_p keep the same, whether few or many tokens are left", () => {
  const tokens = Array.from({ length: 3000 }, (_, token) => token);
  const flat = tokens.map((token) => ((token * 7) % 3000) / 1e6);
  const largest = (count: number) => tokens.filter((token) => (token * 7) % 3000 >= 3000 - count);
  const peaked = tokens.map((token) => (token % 1000 === 7 ? 20 + token / 1000 : 0));
  for (const topK of [1, 1024, 1025, 2999]) expect(kept(flat, { topK })).toEqual(largest(topK));
  expect(kept(flat, { topP: 0.9 }).length).toBeGreaterThan(2650);
  expect(kept(peaked, { topP: 0.9 })).toEqual([1007, 2007]);
  expect(kept(peaked, { topP: 0.999 })).toEqual([7, 1007, 2007]);
  expect(
    kept(
      tokens.map(() => 1),
      { topK: 3, topP: 0.5 },
    ),
  ).toEqual([0, 1]);
});

test("min_p keeps tokens that are likely relative to the most likely one", () => {
  fc.assert(
    fc.property(someLogits, fc.double({ min: 0.001, max: 1, noNaN: true }), (logits, minP) => {
      const most = Math.max(...logits);
      const tokens = kept(logits, { minP });
      logits.forEach((logit, token) => {
        const relative = Math.exp(logit - most);
        if (Math.abs(relative - minP) > 1e-9) expect(tokens.includes(token)).toBe(relative > minP);
      });
    }),
  );
});

test("top_p counts the share of what min_p and top_k left", () => {
  const logits = [0.5, 0.2, 0.2, 0.1].map(Math.log);
  expect(kept(logits, { topP: 0.6 })).toEqual([0, 1]);
  expect(kept(logits, { topP: 0.6, topK: 2 })).toEqual([0]);
  expect(kept(logits, { topP: 0.8, minP: 0.3 })).toEqual([0, 1, 2]);
  expect(kept(logits, { topP: 0.8 })).toEqual([0, 1, 2]);
  expect(kept(logits, { topP: 0.95 })).toEqual([0, 1, 2, 3]);
  expect(kept(logits, { topP: 0.95, minP: 0.3 })).toEqual([0, 1, 2]);
});

test("tokens are drawn as often as they are likely", () => {
  const weights = Float64Array.of(0, 3, 1, 0, 4);
  const counts = [0, 0, 0, 0, 0];
  for (let i = 0; i < 8000; i++) counts[drawToken(weights, { size: 5, sum: 8, uniform: (i + 0.5) / 8000 })]!++;
  expect(counts).toEqual([0, 3000, 1000, 0, 4000]);
});

test("rounding never draws a token of weight zero", () => {
  const weights = Float64Array.of(0.25, 0.5, 0, 0);
  expect(drawToken(weights, { size: 4, sum: 1, uniform: 0.999 })).toBe(1);
  expect(drawToken(new Float64Array(4), { size: 4, sum: 0, uniform: 0.5 })).toBe(-1);
  expect(drawToken(Float64Array.of(NaN, 1), { size: 2, sum: NaN, uniform: 0.5 })).toBe(-1);
});

test("the largest token is the first of equal ones", () => {
  expect(argmax(Float64Array.of(-Infinity, 1, 3, 3), { size: 4 })).toBe(2);
  expect(argmax(Float64Array.of(-Infinity, -Infinity), { size: 2 })).toBe(-1);
  expect(argmax(Float64Array.of(5, NaN), { size: 2 })).toBe(-1);
});
