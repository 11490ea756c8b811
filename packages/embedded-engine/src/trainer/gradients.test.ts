import { loraTargets } from "@heddle/training";
import type { CrossEntropySequence, LoraConfig } from "@heddle/training";
import { expect, test } from "vitest";
import { randomWeights, smallLlama, uniform } from "../../test/random-models.js";
import type { Float64Model } from "../../test/float64-model.js";
import { float64Logprobs, inFloat64, inSinglePrecision } from "../../test/float64-model.js";
import type { Scalar } from "../../test/tape.js";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import { adapterParameters, modelParameters } from "../model/parameters.js";
import { createCpuTrainer } from "./trainer.js";

const grouped: ModelConfig = { ...smallLlama, heads: 4, keyValueHeads: 2, tiedEmbeddings: false };
const stretched: ModelConfig = {
  ...grouped,
  keyValueHeads: 1,
  rotaryScaling: {
    type: "llama3",
    factor: 4,
    lowFrequencyFactor: 0.5,
    highFrequencyFactor: 2,
    originalContextLength: 12,
  },
};
const models: Record<string, ModelConfig> = {
  "llama, tied": smallLlama,
  "llama, grouped queries, own head": grouped,
  "llama 3 rotation": { ...stretched, headSize: 8 },
  "linear rotation": { ...smallLlama, rotaryScaling: { type: "linear", factor: 3 } },
  "yarn rotation": {
    ...stretched,
    headSize: 8,
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
  "llama, all biases": { ...grouped, attentionBias: true, outputBias: true, feedForwardBias: true },
  "qwen2, biases": { ...smallLlama, family: "qwen2", heads: 4, attentionBias: true },
  "qwen3, norm of queries and keys": { ...grouped, family: "qwen3", headSize: 6, queryKeyNorm: true },
};
const local = { window: 3, rotary: "local" } as const;
/** Shapes of further families, whose adapters are compared as well. */
const families: Record<string, ModelConfig> = {
  "mistral, windows": { ...grouped, family: "mistral", layerKinds: [{ window: 4 }, { window: 4 }] },
  "smollm3, a layer without positions": { ...smallLlama, family: "smollm3", layerKinds: [{ rotary: "none" }, {}] },
  "granite, factors": {
    ...grouped,
    family: "granite",
    embeddingScale: 3,
    attentionScale: 0.3,
    residualScale: 0.6,
    logitScale: 0.4,
  },
  "olmo2, norms after": { ...grouped, family: "olmo2", norms: "after", queryKeyNorm: true, wideQueryKeyNorm: true },
  "phi3, a part of each head rotated": {
    ...grouped,
    family: "phi3",
    headSize: 8,
    rotarySize: 4,
    rotaryScaling: {
      type: "longrope",
      divisors: [1.5, 3],
      longDivisors: [2, 9],
      attentionFactor: 1.2,
      // Between the lengths of the sequences.
      originalContextLength: 7,
    },
  },
  "gemma3, norms around, local and global layers": {
    ...grouped,
    tiedEmbeddings: true,
    family: "gemma3_text",
    headSize: 6,
    norms: "around",
    queryKeyNorm: true,
    activation: "gelu_tanh",
    layerKinds: [local, {}],
    localRotaryBase: 30,
    rotaryScaling: { type: "linear", factor: 3 },
    embeddingScale: Math.sqrt(8),
    attentionScale: 0.4,
  },
};
Object.assign(models, families);
const experts: ModelConfig = { ...grouped, family: "qwen3_moe", queryKeyNorm: true, headSize: 6 };
const attention = ["q", "k", "v", "o"] as const;
const sinks: ModelConfig = {
  ...grouped,
  family: "gpt_oss",
  headSize: 6,
  attentionBias: true,
  outputBias: true,
  attentionSinks: true,
  layerKinds: [{ window: 3 }, {}],
  experts: { count: 4, perToken: 2, sharesSumToOne: true, hasBiases: true },
  // Within what gates and ups of these weights reach.
  limitedGate: { limit: 0.4, slope: 1.7 },
};
const hybrid: ModelConfig = {
  ...grouped,
  family: "qwen3_5_text",
  layers: 3,
  headSize: 6,
  rotarySize: 4,
  queryKeyNorm: true,
  outputGate: true,
  layerKinds: [{ linear: true }, {}, { linear: true }],
  linearAttention: { keyHeads: 2, valueHeads: 4, keySize: 5, valueSize: 3, kernel: 3 },
};
const next: ModelConfig = {
  ...hybrid,
  family: "qwen3_next",
  experts: { count: 4, perToken: 2, sharesSumToOne: true, sharedWidth: 5 },
};
const adapters: Record<string, [ModelConfig, LoraConfig]> = Object.fromEntries([
  ...loraTargets.map((target) => [target, [grouped, { rank: 2, alpha: 3, targets: [target] }]] as const),
  ...Object.entries(families).map(
    ([name, config]) => [name, [config, { rank: 2, alpha: 3, targets: [...loraTargets] }]] as const,
  ),
  ...[true, false].map(
    (sharesSumToOne) =>
      [
        `experts, shares that sum to one: ${sharesSumToOne}`,
        [
          { ...experts, experts: { count: 4, perToken: 2, sharesSumToOne } },
          { rank: 2, alpha: 3, targets: [...attention] },
        ],
      ] as [string, [ModelConfig, LoraConfig]],
  ),
  ["gpt-oss, sinks and limited gates", [sinks, { rank: 2, alpha: 3, targets: [...attention] }]],
  ["qwen3.5, linear attention and gates", [hybrid, { rank: 2, alpha: 3, targets: [...loraTargets] }]],
  ["qwen3-next, linear attention and a shared expert", [next, { rank: 2, alpha: 3, targets: [...attention] }]],
  ["all", [models["qwen3, norm of queries and keys"]!, { rank: 3, alpha: 6, targets: [...loraTargets] }]],
]);

test.each(Object.entries(models))("every gradient of %s is that of double precision", async (_name, config) => {
  const weights = randomWeights(modelParameters(config), 1);
  const sequences = ragged(config);
  const { gradient, logprobs } = await trained(config, weights, undefined, sequences);
  checkAgainst(inFloat64(config, weights), weights, sequences, { gradient, logprobs });
});

test.each(Object.entries(adapters))(
  "every gradient of an adapter on %s is that of double precision",
  async (_name, [config, adapter]) => {
    const weights = randomWeights(modelParameters(config), 2);
    const frozen = weights.flat.slice();
    const set = randomWeights(adapterParameters(config, adapter), 3);
    const sequences = ragged(config);
    const { gradient, logprobs } = await trained(config, weights, { config: adapter, set }, sequences);
    const exact = inFloat64(config, weights, { config: adapter, set });
    // What one token adds to the state of linear attention is read by all after it, so that more is lost by rounding.
    const rounded = config.linearAttention && inSinglePrecision(config, weights, { config: adapter, set });
    const tolerance = rounded ? 4 * largestDifference(set, sequences, exact, rounded) : 0;
    checkAgainst(exact, set, sequences, { gradient, logprobs }, Math.max(1e-5, tolerance));
    expect(weights.flat).toEqual(frozen);
  },
);

test("the double-precision gradients are those of central differences", () => {
  const [deep, adapter] = adapters["all"]!;
  const config = { ...deep, layers: 1 };
  const weights = randomWeights(modelParameters(config), 2);
  const set = randomWeights(adapterParameters(config, adapter), 3);
  const sequences = ragged(config).slice(1, 3);
  const lossWith = () => {
    const model = inFloat64(config, weights, { config: adapter, set });
    const loss = float64Loss(model, sequences);
    return { model, loss, value: model.tape.values[loss]! };
  };
  const { model, loss } = lossWith();
  const slopes = model.tape.gradient(loss);
  for (const [name, view] of [...weights.views, ...set.views]) {
    const before = view[1]!;
    // In f32, so that both points are exactly those that are evaluated.
    const [above, below] = [Math.fround(before + 2e-4), Math.fround(before - 2e-4)];
    view[1] = above;
    const high = lossWith().value;
    view[1] = below;
    const slope = (high - lossWith().value) / (above - below);
    view[1] = before;
    expect(slopes[model.parameters.get(name)![1]!], name).toBeCloseTo(slope, 5);
  }
});

/** Sequences of different lengths, weights of both signs, untrained tokens in the middle and at the end. */
function ragged({ vocabularySize }: ModelConfig): CrossEntropySequence[] {
  const random = uniform(7);
  return [9, 4, 2, 13].map((length) => ({
    tokens: Int32Array.from({ length }, () => Math.floor(random() * vocabularySize)),
    mask: Uint8Array.from({ length }, (_, i) => (i > 0 && (length < 4 || i % 4 !== 3) ? 1 : 0)),
    weights: Float64Array.from({ length }, () => 3 * random() - 1),
  }));
}

const normalizer = 5;

/** The gradient: with beta1 0 it equals the first moment. */
async function trained(
  config: ModelConfig,
  weights: ParameterSet,
  adapter: { config: LoraConfig; set: ParameterSet } | undefined,
  sequences: CrossEntropySequence[],
): Promise<{ gradient: Float32Array; logprobs: Float64Array[] }> {
  const trainer = await createCpuTrainer({ config, weights, adapter, memoryBytes: 2 ** 30 });
  const { logprobs } = await trainer.forwardBackward({ name: "cross_entropy", sequences, normalizer });
  await trainer.optimStep({
    learningRate: 0,
    beta1: 0,
    beta2: 0,
    epsilon: 1,
    weightDecay: 0,
    maxGradientNorm: 0,
  });
  const gradient = trainer.optimizer.first.slice();
  await trainer.close();
  return { gradient, logprobs };
}

function float64Loss(model: Float64Model, sequences: CrossEntropySequence[]): Scalar {
  const { tape } = model;
  const terms = sequences.flatMap(({ tokens, mask, weights }) =>
    float64Logprobs(model, tokens).flatMap((logprob, i) =>
      mask[i] && logprob !== undefined ? [tape.scale(logprob, -weights![i]! / normalizer)] : [],
    ),
  );
  return tape.sum(terms);
}

function checkAgainst(
  model: Float64Model,
  { parameters }: ParameterSet,
  sequences: CrossEntropySequence[],
  { gradient, logprobs }: { gradient: Float32Array; logprobs: Float64Array[] },
  tolerance = 1e-5,
): void {
  const { tape } = model;
  sequences.forEach(({ tokens, mask }, index) => {
    float64Logprobs(model, tokens).forEach((expected, i) => {
      const found = logprobs[index]![i]!;
      if (mask[i]) expect(Math.abs(found - tape.values[expected!]!)).toBeLessThan(1e-5);
      else expect(found).toBeNaN();
    });
  });
  const slopes = tape.gradient(float64Loss(model, sequences));
  for (const { name, offset } of parameters) {
    const expected = model.parameters.get(name)!.map((number) => slopes[number]!);
    const largest = Math.max(...expected.map(Math.abs));
    const worst = Math.max(...expected.map((slope, i) => Math.abs(slope - gradient[offset + i]!)));
    expect(largest, `${name} has a gradient`).toBeGreaterThan(1e-4);
    expect(worst, name).toBeLessThan(tolerance * Math.max(1, largest));
  }
}

/** Largest difference of the gradients of two models, by the largest number of a parameter or 1. */
function largestDifference(
  { parameters }: ParameterSet,
  sequences: CrossEntropySequence[],
  exact: Float64Model,
  other: Float64Model,
): number {
  const [slopes, others] = [exact, other].map((model) => model.tape.gradient(float64Loss(model, sequences)));
  const differences = parameters.map(({ name }) => {
    const expected = exact.parameters.get(name)!.map((number) => slopes![number]!);
    const found = other.parameters.get(name)!.map((number) => others![number]!);
    const largest = Math.max(1, ...expected.map(Math.abs));
    return Math.max(...expected.map((slope, i) => Math.abs(slope - found[i]!))) / largest;
  });
  return Math.max(...differences);
}
