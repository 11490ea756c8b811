import { expect, it } from "vitest";
import type { SampledToken } from "@heddle/training";
import type { SamplingResult } from "../sampling/sampling-request.js";
import { responseLimit } from "./response-limit.js";

const token: SampledToken = { token: 1, logprob: -1, alternatives: [{ token: 2, logprob: -2, rank: 1 }] };

it("a result that exceeds the maximum of log-probabilities is aborted while it is generated", () => {
  const limit = responseLimit(5);
  limit.add({ index: 0, text: "", tokens: [token, token] });
  expect(limit.signal.aborted).toBe(false);
  expect(() => limit.check()).not.toThrow();
  limit.add({ index: 1, text: "", tokens: [token] });
  expect(limit.signal.aborted).toBe(true);
  expect(() => limit.check()).toThrow(expect.objectContaining({ code: "too_large" }));
});

it("the log-probabilities of the prompt count as well, and those of a result without chunks", () => {
  const limit = responseLimit(5);
  const one = { token: 1, logprob: -1, rank: 1 };
  const result = (tokens: SampledToken[]): SamplingResult => ({
    completions: [{ index: 0, text: "", tokens, finishReason: "length", stopReason: null }],
    promptLogprobs: [null, [one, one]],
    cachedTokens: 0,
  });
  expect(() => limit.check(result([token]))).not.toThrow();
  expect(() => limit.check(result([token, token]))).toThrow(expect.objectContaining({ code: "too_large" }));
});
