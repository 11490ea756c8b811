import type { CpuGenerateRequest, CpuSamplerSettings } from "../src/decode/cpu-sampler.js";
import { createCpuSampler } from "../src/decode/cpu-sampler.js";
import type { ModelConfig } from "../src/model/config.js";
import type { ParameterSet } from "../src/model/parameters.js";
import type { Float64Model } from "./float64-model.js";
import { float64Logits } from "./float64-model.js";
import { characterTokenizer, randomWeights, smallModels } from "./small-models.js";

/** A sampler that serves one small model under the name `model`. */
export async function serveSmallModel({
  config = smallModels.qwen3,
  weights = randomWeights(config, 1),
  ...settings
}: Partial<CpuSamplerSettings> & { config?: ModelConfig; weights?: ParameterSet } = {}) {
  const sampler = createCpuSampler({ memoryBytes: 2 ** 28, ...settings });
  const tokenizer = characterTokenizer(config.vocabularySize);
  await sampler.addModel("model", { config, weights, tokenizer });
  return { sampler, config, weights, tokenizer };
}

/** A request on it with defaults. */
export function requestOf(settings: Partial<CpuGenerateRequest>): CpuGenerateRequest {
  return {
    weights: "model",
    prompt: Int32Array.of(1, 2, 3),
    n: 1,
    maxTokens: 8,
    seed: 1,
    ignoreEos: true,
    ...settings,
  };
}

/** Log-probabilities of the whole vocabulary after each token, in double precision. */
export function float64Distribution(model: Float64Model, tokens: ArrayLike<number>): number[][] {
  return float64Logits(model, tokens).map((row) => {
    const logits = row.map((scalar) => model.tape.values[scalar]!);
    const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
    return logits.map((logit) => logit - total);
  });
}
