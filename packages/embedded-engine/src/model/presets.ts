import type { ModelConfig } from "./config.js";

/**
 * Shapes of `random:<preset>`. They are of the Qwen3 family, whose norms of queries and keys keep small models stable
 * at high learning rates. They use the tokenizer of `heddle/starter`.
 */
export const presets: ReadonlyMap<string, ModelConfig> = new Map([
  ["tiny", shape({ hiddenSize: 64, layers: 2, heads: 4, keyValueHeads: 2, headSize: 16, feedForwardSize: 176 })],
  ["small", shape({ hiddenSize: 128, layers: 4, heads: 4, keyValueHeads: 4, headSize: 32, feedForwardSize: 352 })],
  ["medium", shape({ hiddenSize: 256, layers: 6, heads: 8, keyValueHeads: 4, headSize: 32, feedForwardSize: 704 })],
]);

type Size = Pick<ModelConfig, "hiddenSize" | "layers" | "heads" | "keyValueHeads" | "headSize" | "feedForwardSize">;

function shape(size: Size): ModelConfig {
  return {
    family: "qwen3",
    vocabularySize: 1024,
    ...size,
    contextLength: 1024,
    normEpsilon: 1e-6,
    rotaryBase: 10_000,
    tiedEmbeddings: true,
    queryKeyNorm: true,
    attentionBias: false,
  };
}
