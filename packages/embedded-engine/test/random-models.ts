import type { ModelConfig } from "../src/model/config.js";
import type { ModelParameter, ParameterSet } from "../src/model/parameters.js";
import { parameterSet } from "../src/model/parameters.js";

/** The smallest model with default settings, which tests override. */
export const smallLlama: ModelConfig = {
  family: "llama",
  vocabularySize: 11,
  hiddenSize: 8,
  layers: 2,
  heads: 2,
  keyValueHeads: 2,
  headSize: 4,
  feedForwardSize: 6,
  contextLength: 64,
  normEpsilon: 1e-5,
  rotaryBase: 100,
  tiedEmbeddings: true,
  queryKeyNorm: false,
  attentionBias: false,
};

/** Weights large enough to affect the results; gains around 1. */
export function randomWeights(parameters: ModelParameter[], seed: number): ParameterSet {
  const random = uniform(seed);
  const set = parameterSet(parameters);
  for (const { name, shape } of parameters) {
    const view = set.views.get(name)!;
    const isGain = name.endsWith("norm");
    const width = shape.length > 1 ? 1.2 : 1;
    for (let i = 0; i < view.length; i++) view[i] = isGain ? 0.5 + random() : (random() - 0.5) * width;
  }
  return set;
}

/** Numbers in [0, 1). */
export function uniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
