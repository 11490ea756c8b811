import type { ModelConfig } from "../src/model/config.js";

export type LlamaShape = Pick<ModelConfig, "vocabularySize" | "hiddenSize" | "layers" | "heads" | "feedForwardSize">;

/** 0.87 and 5.08 million weights. */
export const llamaShapes = {
  A: { vocabularySize: 512, hiddenSize: 128, layers: 4, heads: 4, feedForwardSize: 352 },
  C: { vocabularySize: 1024, hiddenSize: 256, layers: 6, heads: 4, feedForwardSize: 704 },
} as const satisfies Record<string, LlamaShape>;

/** A small Llama. */
export function llama(shape: LlamaShape, contextLength = 512): ModelConfig {
  return {
    ...shape,
    family: "llama",
    keyValueHeads: shape.heads,
    headSize: shape.hiddenSize / shape.heads,
    contextLength,
    normEpsilon: 1e-6,
    rotaryBase: 10_000,
    tiedEmbeddings: true,
    queryKeyNorm: false,
    attentionBias: false,
  };
}
