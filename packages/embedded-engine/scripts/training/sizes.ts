import type { ModelConfig } from "../../src/model/config.js";

const shared = {
  family: "qwen3",
  vocabularySize: 1024,
  contextLength: 1024,
  headSize: 32,
  normEpsilon: 1e-6,
  rotaryBase: 10_000,
  tiedEmbeddings: true,
  queryKeyNorm: true,
  attentionBias: false,
} satisfies Partial<ModelConfig>;

/** The shapes that were compared; the model's card has the scores. */
const sizes: Readonly<Record<string, ModelConfig>> = {
  d96: { ...shared, hiddenSize: 96, layers: 4, heads: 3, keyValueHeads: 3, feedForwardSize: 256 },
  d128: { ...shared, hiddenSize: 128, layers: 4, heads: 4, keyValueHeads: 4, feedForwardSize: 352 },
  d192: { ...shared, hiddenSize: 192, layers: 6, heads: 6, keyValueHeads: 6, feedForwardSize: 512 },
};

export function sizeNamed(name: string): ModelConfig {
  const config = sizes[name];
  if (!config) throw new Error(`a size is one of ${Object.keys(sizes).join(", ")}, not ${name}`);
  return config;
}
