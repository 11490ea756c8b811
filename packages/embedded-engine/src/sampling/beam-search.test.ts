import { expect, test } from "vitest";
import { characterTokenizer } from "../../test/small-models.js";
import { createBeamSearch } from "./beam-search.js";
import type { SamplingRequest } from "./sampling-request.js";

const size = 4;
const end = size - 1;

/** Logits of a model that depend on all tokens so far. */
function logitsAfter(tokens: readonly number[], salt: number): Float32Array {
  const state = tokens.reduce((sum, token) => (sum * 31 + token * 7 + 3) % 1009, salt);
  return Float32Array.from({ length: size }, (_, token) => 3 * Math.sin(state * (token + 1)));
}

function logprobsAfter(tokens: readonly number[], salt: number): number[] {
  const logits = [...logitsAfter(tokens, salt)];
  const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
  return logits.map((logit) => logit - total);
}

function search(settings: Partial<SamplingRequest>, salt: number) {
  const request = { prompt: Int32Array.of(0), n: 1, maxTokens: 4, beamSearch: { lengthPenalty: 1 }, ...settings };
  const tokenizer = characterTokenizer(size);
  const beams = createBeamSearch({ request, tokenizer, eosIds: [end], rowSize: size, seed: 0 });
  let rows: number[][] = [[]];
  let steps = 0;
  while (rows.length > 0) {
    const { continuations } = beams.step(rows.map((tokens) => ({ logits: logitsAfter(tokens, salt), offset: 0 })));
    rows = continuations.map(({ parent, token }) => [...rows[parent]!, token]);
    steps++;
  }
  return { steps, completions: beams.result() };
}

interface Scored {
  tokens: number[];
  score: number;
}

/** All possible completions, best first. */
function every(maxTokens: number, lengthPenalty: number, salt: number): Scored[] {
  const found: Scored[] = [];
  const walk = (tokens: number[], total: number) => {
    logprobsAfter(tokens, salt).forEach((logprob, token) => {
      const next = [...tokens, token];
      const length = Math.max(1, token === end ? tokens.length : next.length);
      if (token === end || next.length === maxTokens) {
        found.push({ tokens: next, score: (total + logprob) / length ** lengthPenalty });
      } else walk(next, total + logprob);
    });
  };
  walk([], 0);
  return found.toSorted((a, b) => b.score - a.score);
}

test.each([1, 2, 3, 4, 5])("beams as wide as the tree find the best completions of model %i", (salt) => {
  for (const lengthPenalty of [-1, 0, 0.5, 1, 2]) {
    const width = 64;
    const { completions } = search({ n: width, beamSearch: { lengthPenalty } }, salt);
    const wanted = every(4, lengthPenalty, salt).slice(0, width);
    const totals = completions.map(({ tokens }) => tokens.reduce((sum, { logprob }) => sum + logprob, 0));
    const scores = completions.map(({ tokens, finishReason }, i) => {
      const length = Math.max(1, tokens.length - (finishReason === "stop" ? 1 : 0));
      return totals[i]! / length ** lengthPenalty;
    });
    scores.forEach((score, i) => expect(score).toBeCloseTo(wanted[i]!.score, 5));
    expect(completions[0]!.tokens.map(({ token }) => token)).toEqual(wanted[0]!.tokens);
  }
});

test("one beam takes the most likely token at each step", () => {
  const { completions } = search({ n: 1, ignoreEos: true, maxTokens: 6 }, 3);
  const tokens: number[] = [];
  while (tokens.length < 6) {
    const logits = logitsAfter(tokens, 3);
    tokens.push(logits.indexOf(Math.max(...logits)));
  }
  expect(completions[0]!.tokens.map(({ token }) => token)).toEqual(tokens);
});

test("a higher length penalty favours longer completions", () => {
  const lengths = [-2, 4].map((lengthPenalty) => {
    const { completions } = search({ n: 4, maxTokens: 8, beamSearch: { lengthPenalty } }, 2);
    return completions.reduce((sum, { tokens }) => sum + tokens.length, 0);
  });
  expect(lengths[0]).toBeLessThan(lengths[1]!);
});

test("the search ends when no completion can improve", () => {
  const sure = search({ n: 1, maxTokens: 50, beamSearch: { lengthPenalty: 0 } }, 1);
  expect(sure.steps).toBeLessThan(50);
  expect(sure.completions[0]!.finishReason).toBe("stop");
});
