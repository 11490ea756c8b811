import { expect, test } from "vitest";
import { locOf } from "@heddle/errors/testing";
import type { SamplingRequest } from "./sampling-request.js";
import { checkSamplingRequest } from "./sampling-request.js";

const limits = { vocabularySize: 10, contextLength: 20, maxBeams: 4 };
const check = (settings: Partial<SamplingRequest>) => () =>
  checkSamplingRequest({ prompt: Int32Array.of(1, 2), n: 1, maxTokens: 5, ...settings }, limits);

test("a request with all values in range is accepted", () => {
  expect(
    check({
      maxTokens: 18,
      n: 100,
      seed: 2 ** 32 - 1,
      temperature: 0,
      topP: 1,
      topK: -1,
      minP: 0,
      repetitionPenalty: 0.5,
      frequencyPenalty: -2,
      presencePenalty: 2,
      logitBias: new Map([[9, -100]]),
      allowedTokenIds: [0],
      badWords: [Int32Array.of(9)],
      stop: ["x"],
      stopTokenIds: [9],
      minTokens: 18,
      topLogprobs: -1,
      promptLogprobs: 0,
      repetitionDetection: { maxPatternSize: 0, minPatternSize: 0, minCount: 2 },
    }),
  ).not.toThrow();
});

const bad: [path: string, settings: Partial<SamplingRequest>][] = [
  ["prompt", { prompt: new Int32Array() }],
  ["prompt.1", { prompt: Int32Array.of(0, 10) }],
  ["prompt.0", { prompt: Int32Array.of(-1) }],
  ["n", { n: 0 }],
  ["n", { n: 1.5 }],
  ["n", { n: 1025 }],
  ["maxTokens", { maxTokens: 0 }],
  ["minTokens", { minTokens: 6 }],
  ["seed", { seed: -1 }],
  ["seed", { seed: 2 ** 32 }],
  ["temperature", { temperature: -0.1 }],
  ["temperature", { temperature: NaN }],
  ["temperature", { temperature: Infinity }],
  ["topP", { topP: 0 }],
  ["topP", { topP: 1.1 }],
  ["topK", { topK: -2 }],
  ["minP", { minP: 2 }],
  ["repetitionPenalty", { repetitionPenalty: 0 }],
  ["frequencyPenalty", { frequencyPenalty: 2.1 }],
  ["presencePenalty", { presencePenalty: NaN }],
  ["logitBias.0", { logitBias: new Map([[10, 1]]) }],
  ["logitBias.3", { logitBias: new Map([[3, Infinity]]) }],
  ["allowedTokenIds", { allowedTokenIds: [] }],
  ["allowedTokenIds.1", { allowedTokenIds: [1, 0.5] }],
  ["badWords.1", { badWords: [Int32Array.of(1), new Int32Array()] }],
  ["badWords.0.1", { badWords: [Int32Array.of(1, 77)] }],
  ["stop.1", { stop: ["a", ""] }],
  ["stopTokenIds.0", { stopTokenIds: [10] }],
  ["topLogprobs", { topLogprobs: -2 }],
  ["promptLogprobs", { promptLogprobs: 0.5 }],
  ["repetitionDetection.minCount", { repetitionDetection: { maxPatternSize: 2, minPatternSize: 1, minCount: 1 } }],
  [
    "repetitionDetection.minPatternSize",
    { repetitionDetection: { maxPatternSize: 2, minPatternSize: 3, minCount: 2 } },
  ],
];

test.each(bad)("%s out of its range is refused by name: %j", (path, settings) => {
  expect(check(settings)).toThrow(expect.objectContaining({ code: "invalid", loc: locOf(path) }));
});

test("a prompt and completion over the context are refused with both numbers", () => {
  expect(check({ maxTokens: 19 })).toThrow(/prompt has 2 tokens and 19 more .* context has 20/);
});

test("beam search names every field that it excludes", () => {
  expect(check({ n: 4, beamSearch: { lengthPenalty: 1 }, temperature: 0 })).not.toThrow();
  expect(check({ n: 5, beamSearch: { lengthPenalty: 1 } })).toThrow(expect.objectContaining({ loc: ["n"] }));
  expect(check({ n: 2, beamSearch: { lengthPenalty: NaN } })).toThrow(/finite/);
  expect(
    check({
      beamSearch: { lengthPenalty: 1 },
      stop: ["a"],
      presencePenalty: 1,
      topK: 3,
      structuredOutput: { type: "json_object" },
    }),
  ).toThrow("beam search cannot be combined with topK, presencePenalty, stop, structuredOutput");
});
