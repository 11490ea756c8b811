import type { ModelConfig } from "../src/model/config.js";
import type { ModelParameter, ParameterSet } from "../src/model/parameters.js";
import { modelParameters, parameterSet } from "../src/model/parameters.js";
import { createGenerator } from "../src/sampling/generator.js";

/** One small model of each kind with a different graph. */
const llama: ModelConfig = {
  family: "llama",
  vocabularySize: 40,
  hiddenSize: 16,
  layers: 2,
  heads: 4,
  keyValueHeads: 4,
  headSize: 4,
  feedForwardSize: 12,
  contextLength: 1024,
  normEpsilon: 1e-5,
  rotaryBase: 100,
  tiedEmbeddings: true,
  queryKeyNorm: false,
  attentionBias: false,
};

/** Of the families with linear attention. */
const linearQwen = {
  ...llama,
  layers: 3,
  keyValueHeads: 2,
  headSize: 8,
  rotarySize: 4,
  queryKeyNorm: true,
  outputGate: true,
  layerKinds: [{ linear: true }, {}, { linear: true }],
  linearAttention: { keyHeads: 2, valueHeads: 4, keySize: 5, valueSize: 3, kernel: 3 },
} satisfies ModelConfig;

export const smallModels = {
  llama,
  "llama with grouped queries, its own head and stretched positions": {
    ...llama,
    keyValueHeads: 2,
    tiedEmbeddings: false,
    rotaryScaling: {
      type: "llama3",
      factor: 4,
      lowFrequencyFactor: 0.5,
      highFrequencyFactor: 2,
      originalContextLength: 12,
    },
  },
  "llama with all biases and positions of YaRN": {
    ...llama,
    headSize: 8,
    keyValueHeads: 2,
    attentionBias: true,
    outputBias: true,
    feedForwardBias: true,
    rotaryScaling: {
      type: "yarn",
      factor: 4,
      originalContextLength: 24,
      betaFast: 2,
      betaSlow: 0.4,
      attentionFactor: 1.2,
      truncate: true,
    },
  },
  qwen2: { ...llama, family: "qwen2", keyValueHeads: 1, attentionBias: true },
  qwen3: { ...llama, family: "qwen3", keyValueHeads: 2, headSize: 6, queryKeyNorm: true },
  "granite, with factors": {
    ...llama,
    family: "granite",
    keyValueHeads: 2,
    embeddingScale: 2,
    attentionScale: 0.4,
    residualScale: 0.6,
    logitScale: 0.5,
  },
  "smollm3, with a window and a layer without positions": {
    ...llama,
    family: "smollm3",
    keyValueHeads: 2,
    layerKinds: [{ window: 5 }, { rotary: "none" }],
  },
  qwen3_moe: {
    ...llama,
    family: "qwen3_moe",
    headSize: 6,
    queryKeyNorm: true,
    experts: { count: 4, perToken: 2, sharesSumToOne: true },
  },
  olmo2: { ...llama, family: "olmo2", norms: "after", queryKeyNorm: true, wideQueryKeyNorm: true },
  "phi3, with a part of each head rotated": {
    ...llama,
    family: "phi3",
    keyValueHeads: 2,
    headSize: 8,
    rotarySize: 4,
    layerKinds: [{ window: 9 }, { window: 9 }],
  },
  gemma3: {
    ...llama,
    family: "gemma3_text",
    keyValueHeads: 2,
    headSize: 6,
    norms: "around",
    queryKeyNorm: true,
    activation: "gelu_tanh",
    layerKinds: [{ window: 7, rotary: "local" }, {}],
    localRotaryBase: 30,
    embeddingScale: 4,
  },
  "gpt_oss, with sinks and limited gates": {
    ...llama,
    family: "gpt_oss",
    keyValueHeads: 2,
    attentionBias: true,
    outputBias: true,
    attentionSinks: true,
    layerKinds: [{ window: 7 }, {}],
    experts: { count: 4, perToken: 2, sharesSumToOne: true, hasBiases: true },
    limitedGate: { limit: 0.5, slope: 1.7 },
  },
  "qwen3_5, with linear attention": { ...linearQwen, family: "qwen3_5_text" },
  "qwen3_next, with linear attention and a shared expert": {
    ...linearQwen,
    family: "qwen3_next",
    experts: { count: 4, perToken: 2, sharesSumToOne: true, sharedWidth: 10 },
  },
} satisfies Record<string, ModelConfig>;

/** Weights large enough for every part of the model to affect its logits. */
export function randomWeights(config: ModelConfig, seed: number): ParameterSet {
  return randomSet(modelParameters(config), seed);
}

export function randomSet(parameters: ModelParameter[], seed: number): ParameterSet {
  const set = parameterSet(parameters);
  const draw = createGenerator(seed);
  for (const { name, shape } of parameters) {
    const gain = name.endsWith("norm");
    const scale = gain || shape.length === 1 ? 0.4 : 3 / Math.sqrt(shape[0] ?? 1);
    const view = set.views.get(name);
    view?.forEach((_, i) => (view[i] = (gain ? 1 : 0) + (draw() - 0.5) * scale));
  }
  return set;
}

/** Bytes: token t is the character of code t + 48, the last one is the end of a text. */
export function characterTokenizer(vocabularySize: number) {
  const end = vocabularySize - 1;
  return {
    vocabularySize,
    tokenBytes: (id: number) => (id === end ? new TextEncoder().encode("<end>") : Uint8Array.of(48 + id)),
    specialIds: new Set([end]),
    eosIds: [end],
  };
}
