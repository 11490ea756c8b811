import type { ModelConfig } from "../src/model/config.js";

/** The shape of Qwen2.5-0.5B, which has 24 layers. */
export function halfBillion(layers: number): ModelConfig {
  return {
    family: "qwen2",
    vocabularySize: 151_936,
    hiddenSize: 896,
    layers,
    heads: 14,
    keyValueHeads: 2,
    headSize: 64,
    feedForwardSize: 4864,
    contextLength: 1024,
    normEpsilon: 1e-6,
    rotaryBase: 1e6,
    tiedEmbeddings: true,
    queryKeyNorm: false,
    attentionBias: true,
  };
}
