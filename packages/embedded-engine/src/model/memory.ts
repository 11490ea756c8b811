import type { LoraConfig } from "@heddle/training";
import { HeddleError, withLoc } from "@heddle/errors";
import { maxBlockLength } from "./attention-blocks.js";
import { checkLoraConfig } from "./lora-config.js";
import type { ModelConfig } from "./config.js";
import { layersByMemory, linearStateSize, linearWidths } from "./layer-kinds.js";
import { adapterParameters, modelParameters, parameterCount } from "./parameters.js";

/** Required bytes, in total and by purpose. */
export interface MemoryRequirement {
  total: number;
  parts: Record<string, number>;
}

const bytesPerNumber = 4;

/**
 * Resident bytes per live byte: the library's arena retains memory, and arrays wait for garbage collection. Measured
 * with 0.9 and 4.7 million weights and 256 to 2,048 tokens, for which the estimates below are accurate within 10 %.
 */
const residentOverhead = 1.5;

/** Tokens of the smallest batch that training must support: one sequence of this length. */
const minBatchTokens = 128;

/** Rows of logits of the smallest batch that are computed at a time. */
const minHeadRows = 32;

/** Tokens of the one sequence that sampling must support. */
const minContextTokens = 256;

/** Arrays of one block's attention scores that the backward pass holds at a time. */
const scoreArrays = 4;

/**
 * Returns the peak bytes of the activations of one batch: what the forward pass keeps for the backward pass, and what
 * the backward pass of one layer needs in addition.
 *
 * @param kept whether the forward pass keeps all activations of every layer, or only the layers' inputs, from which the
 *   backward pass computes them again with attention in blocks; `time` is then one that `blockwiseLength` returns.
 */
export function activationBytes(
  config: ModelConfig,
  { rows, time, kept }: { rows: number; time: number; kept: boolean },
): number {
  const { hiddenSize, heads, keyValueHeads, headSize, feedForwardSize, layers } = config;
  const queries = heads * headSize;
  const keys = keyValueHeads * headSize;
  const norms = config.queryKeyNorm ? queries + keys + heads + keyValueHeads : 0;
  // Queries, keys, values, mixed values, the residual stream after attention, gate, up and the scales.
  const widest = feedForwardSize + (config.experts?.sharedWidth ?? 0);
  const values = 2 * queries + 2 * keys + norms + hiddenSize + 2 * widest + 2;
  const scores = heads * time;
  const blockScores = heads * Math.min(time, maxBlockLength);
  const stored = layers * (hiddenSize + (kept ? values + scores : 0));
  // In the backward pass: the gradients of all those, and as many intermediate products.
  const oneLayer = 3 * values + (kept ? 3 * scores : scoreArrays * blockScores + 4 * keys);
  const linear = linearNumbers(config, rows, time);
  return residentOverhead * bytesPerNumber * (rows * time * (stored + oneLayer) + linear);
}

/** Returns the bytes of keys and values of one token of one sequence. */
function cacheBytesPerToken(config: ModelConfig): number {
  return bytesPerNumber * 2 * layersByMemory(config).attention.length * config.keyValueHeads * config.headSize;
}

/** Returns the numbers that layers of linear attention keep of one sequence. */
function stateNumbers(config: ModelConfig): number {
  const { linear } = layersByMemory(config);
  return linear.length === 0 ? 0 : linear.length * linearStateSize(config);
}

/** Numbers of one layer of linear attention in the backward pass, besides those of attention: columns, and states of blocks. */
function linearNumbers(config: ModelConfig, rows: number, time: number): number {
  if (!config.linearAttention) return 0;
  const { mixed, values } = linearWidths(config);
  return rows * (time * 8 * (mixed + values) + (time / 16 + 24) * linearStateSize(config));
}

/**
 * Returns the least memory of a trainer: weights; gradients and both moments of the trained weights; the gradients of
 * one layer in transit, twice because the library copies its outputs; and the activations of one sequence of 128
 * tokens. Excludes the process itself, about 130 MB.
 */
export function trainingMemory(config: ModelConfig, adapter?: LoraConfig): MemoryRequirement {
  const all = parameterCount(modelParameters(config));
  const trained = adapter ? parameterCount(adapterParameters(config, adapter)) : all;
  const perLayer = adapter
    ? trained / config.layers
    : (all - parameterCount(modelParameters({ ...config, layers: 0 }))) / config.layers;
  const head = adapter ? 0 : config.vocabularySize * config.hiddenSize;
  const time = Math.min(minBatchTokens, config.contextLength);
  return requirement({
    weights: all + (adapter ? trained : 0),
    gradients: trained + 2 * Math.max(perLayer, head),
    moments: 2 * trained,
    activations:
      activationBytes(config, { rows: 1, time, kept: false }) / bytesPerNumber +
      3 * minHeadRows * config.vocabularySize,
  });
}

/** Returns the least memory for sampling: weights, and keys and values of one sequence of 256 tokens. */
export function samplingMemory(config: ModelConfig): MemoryRequirement {
  const tokens = Math.min(minContextTokens, config.contextLength);
  return requirement({
    weights: parameterCount(modelParameters(config)),
    cache: (tokens * cacheBytesPerToken(config)) / bytesPerNumber + stateNumbers(config),
    logits: 2 * config.vocabularySize,
  });
}

/**
 * Checks the memory for training before any weights are read.
 *
 * @throws HeddleError `too_large` with the required and available memory and what would fit; `invalid` for an invalid
 *   adapter configuration; `unsupported` for all weights of a model of which not all are trained.
 */
export function requireTrainingMemory(config: ModelConfig, adapter: LoraConfig | undefined, memoryBytes: number): void {
  if (adapter) withLoc(["adapter"], () => checkLoraConfig(adapter));
  if (!adapter && !trainsAllWeights(config)) {
    const message = config.experts
      ? "all weights of a mixture of experts cannot be trained; an adapter on its attention can"
      : "all weights of a model with linear attention cannot be trained; an adapter can";
    throw new HeddleError("unsupported", message, { loc: ["adapter"] });
  }
  const required = trainingMemory(config, adapter);
  if (required.total <= memoryBytes) return;
  const smaller: LoraConfig = { rank: 8, alpha: 16, targets: ["q", "k", "v", "o", "gate", "up", "down"] };
  const withAdapter = trainingMemory(config, smaller).total;
  const what = adapter ? `an adapter of rank ${adapter.rank}` : "all weights";
  const fits =
    !adapter && withAdapter <= memoryBytes
      ? `an adapter of rank ${smaller.rank} would fit, with ${formatBytes(withAdapter)}`
      : fittingModel(config, memoryBytes, (shape) => trainingMemory(shape, adapter));
  throw tooLarge(`training ${what} of this model`, required, memoryBytes, fits);
}

/** Whether there are gradients of all weights of a model. */
export function trainsAllWeights({ experts, linearAttention }: ModelConfig): boolean {
  return experts === undefined && linearAttention === undefined;
}

/** Checks the memory for sampling, like `requireTrainingMemory`. */
export function requireSamplingMemory(config: ModelConfig, memoryBytes: number): void {
  const required = samplingMemory(config);
  if (required.total <= memoryBytes) return;
  throw tooLarge("sampling from this model", required, memoryBytes, fittingModel(config, memoryBytes, samplingMemory));
}

function tooLarge(work: string, required: MemoryRequirement, memoryBytes: number, fits: string): HeddleError {
  const parts = Object.entries(required.parts).map(([name, bytes]) => `${name} ${formatBytes(bytes)}`);
  const numbers = `${formatBytes(required.total)} (${parts.join(", ")}); ${formatBytes(memoryBytes)} are available`;
  return new HeddleError("too_large", `${work} needs ${numbers}; ${fits}`);
}

/** Describes about how large a model of the same proportions would fit: memory grows with the number of weights. */
function fittingModel(
  config: ModelConfig,
  memoryBytes: number,
  required: (shape: ModelConfig) => MemoryRequirement,
): string {
  const parameters = parameterCount(modelParameters(config));
  const maxMillions = Math.floor((parameters * memoryBytes) / required(config).total / 1e5) / 10;
  return `a model of about ${maxMillions} million weights instead of ${Math.ceil(parameters / 1e5) / 10} million would fit`;
}

function requirement(numbers: Record<string, number>): MemoryRequirement {
  const parts = Object.fromEntries(
    Object.entries(numbers).map(([name, count]) => [name, Math.ceil(count) * bytesPerNumber]),
  );
  return { parts, total: Object.values(parts).reduce((sum, bytes) => sum + bytes, 0) };
}

function formatBytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(2)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
