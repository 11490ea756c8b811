import { expect, test } from "vitest";
import { withCapabilities } from "./capabilities.js";
import { minBytes, requestShare, shareOfKey } from "./decode/admission.js";
import type { PreparedWeights } from "./decode/prepared-weights.js";
import type { ModelConfig } from "./model/config.js";
import type { CompletionContext } from "./sampling/completion-sampler.js";
import { trainingMemory } from "./model/memory.js";
import { modelParameters, parameterCount } from "./model/parameters.js";
import { batchLimits, batchLength, maxSequenceTokens, computeThreads } from "./trainer/batch-limits.js";

/** The shape of a model of half a billion weights. */
const half: ModelConfig = {
  family: "qwen2",
  vocabularySize: 151_936,
  hiddenSize: 896,
  layers: 24,
  heads: 14,
  keyValueHeads: 2,
  headSize: 64,
  feedForwardSize: 4864,
  contextLength: 32_768,
  normEpsilon: 1e-6,
  rotaryBase: 1e6,
  tiedEmbeddings: true,
  queryKeyNorm: false,
  attentionBias: true,
};
const parameters = parameterCount(modelParameters(half));
const info = { name: "dir:half", parameters, vocabularySize: 151_936, contextLength: 32_768, directory: "" };
const adapter = { rank: 8, alpha: 16, targets: ["q" as const, "v" as const] };

function capabilities(trainerBytes: number, samplerBytes: number) {
  const resources = { trainerBytes, samplerBytes, threads: 2, trainers: 1, adapterRank: 64 };
  return withCapabilities([{ info, config: half }], resources);
}

test("a model that is too large to be trained or sampled is not listed, with the reason", () => {
  const { models, problems } = capabilities(1e9, 1e9);
  expect(models).toEqual([]);
  expect(problems).toEqual([
    { name: "dir:half", reason: expect.stringMatching(/^sampling from this model needs 1.98/) },
  ]);
});

test("a model has the capabilities that fit its memory: sampling, an adapter, all weights", () => {
  const trainingWith = (bytes: number) => capabilities(bytes, 4e9).models[0]?.training;
  expect(capabilities(1e9, 4e9).models).toMatchObject([{ sampling: { contextLength: 8192 } }]);
  expect(capabilities(1e9, 4e10).models).toMatchObject([{ sampling: { contextLength: 32_768 } }]);
  expect(trainingWith(1e9)).toBeUndefined();
  expect(trainingWith(6e9)).toMatchObject({ fullFineTuning: false });
  expect(trainingWith(2e10)).toMatchObject({ fullFineTuning: true });
});

test("a text as long as the context of a model that is listed is one that a key may have", () => {
  for (const samplerBytes of [2.5e9, 4e9, 9e9]) {
    const { contextLength } = capabilities(1e9, samplerBytes).models[0]!.sampling!;
    const available = shareOfKey({ rows: 1, bytes: samplerBytes * requestShare }).bytes;
    for (const length of [1, contextLength / 2 + 1, contextLength - 1]) {
      const request = { prompt: new Int32Array(length), n: 1, maxTokens: contextLength - length };
      const context = { request, rowSize: half.vocabularySize } as CompletionContext;
      const weights = { config: half } as PreparedWeights;
      expect(minBytes({ weights, context })).toBeLessThanOrEqual(available);
    }
  }
});

test("an adapter has the projections of one matrix together, and none of experts", () => {
  const resources = { trainerBytes: 2e10, samplerBytes: 4e9, threads: 2, trainers: 1, adapterRank: 64 };
  const loraOf = (config: ModelConfig) => withCapabilities([{ info, config }], resources).models[0]?.training;
  expect(loraOf(half)?.lora?.targetGroups).toBeUndefined();
  expect(loraOf({ ...half, family: "phi3" })?.lora?.targetGroups).toEqual([
    ["q", "k", "v"],
    ["o"],
    ["gate", "up"],
    ["down"],
  ]);
  const mixture = loraOf({ ...half, family: "qwen3_moe", experts: { count: 2, perToken: 1, sharesSumToOne: true } });
  expect(mixture).toMatchObject({ fullFineTuning: false, lora: { default: { targets: ["q", "k", "v", "o"] } } });
  expect(mixture?.lora?.targetGroups).toEqual([["q"], ["k"], ["v"], ["o"]]);
});

test("an adapter on half a billion weights is trained on more than 8,000 tokens within 7 GB", () => {
  const tokens = maxSequenceTokens(half, adapter, { memoryBytes: 7e9, threads: 2 });
  expect(tokens).toBeGreaterThan(8000);
  expect(tokens).toBeLessThan(half.contextLength);
});

test("the maximum length is the longest that a trainer with the same memory accepts", () => {
  for (const [config, of, memoryBytes] of [
    [half, adapter, 5e9],
    [half, undefined, 1.2e10],
    [{ ...half, contextLength: 1000 }, adapter, 7e9],
  ] as const) {
    const tokens = maxSequenceTokens(config, of, { memoryBytes, threads: 2 });
    const { workers } = computeThreads(config, of, { memoryBytes, threads: 2 });
    const mode = (length: number) =>
      batchLimits(config, of, { memoryBytes, workers }).modeOf(1, batchLength(length - 1));
    expect(mode(tokens)).not.toBe("tooLarge");
    expect(tokens === config.contextLength || mode(tokens + 1) === "tooLarge").toBe(true);
  }
  const least = trainingMemory(half, adapter).total;
  expect(maxSequenceTokens(half, adapter, { memoryBytes: least - 1, threads: 1 })).toBe(0);
  expect(maxSequenceTokens(half, adapter, { memoryBytes: least, threads: 1 })).toBeGreaterThan(100);
});
