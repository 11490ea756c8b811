import type { ModelConfig } from "../model/config.js";
import { linearAttentionOf, linearWidths } from "../model/layer-kinds.js";
import { rmsNorm } from "./norm.js";
import type { Graph, TensorName } from "./onnx.js";
import { add, batchedMatMul, matMul, multiply, reshape, splitColumns, subtract } from "./operators.js";

// Linear attention by the gated delta rule (Yang et al., arXiv 2412.06464): a state by head maps keys to values. A token decays the
// state, replaces what it has for the token's key by the token's value, as far as its rate says, and reads it by its query.

/** Weights of a layer, as graph values. */
export interface LinearWeights {
  /** [hidden, mixed + values + 2 heads] */
  input: TensorName;
  /** [kernel, mixed] */
  convolution: TensorName;
  logDecay: TensorName;
  stepBias: TensorName;
  norm: TensorName;
}

export function namedLinearWeights(weight: (name: string) => TensorName): LinearWeights {
  return {
    input: weight("linear_input"),
    convolution: weight("convolution"),
    logDecay: weight("log_decay"),
    stepBias: weight("step_bias"),
    norm: weight("linear_norm"),
  };
}

/** What a layer reads of each token: columns before the convolution, and of output gates, rates and steps. */
export type LinearColumns = Record<"mixed" | "gate" | "rate" | "step", TensorName>;

export function linearColumns(graph: Graph, config: ModelConfig, weights: LinearWeights, y: TensorName): LinearColumns {
  const { mixed, values, heads } = linearWidths(config);
  return splitColumns(graph, matMul(graph, y, weights.input), { mixed, gate: values, rate: heads, step: heads });
}

/** Vectors of each token and head, [.., heads, 1, size], and numbers, [.., heads, 1, 1]. */
export type RuleInputs = Record<"query" | "key" | "value" | "decay" | "rate", TensorName>;

const epsilon = 1e-6;

/** Returns what the rule reads of each token, [tokens, heads, 1, ..], given the columns after the convolution. */
export function ruleInputs(
  graph: Graph,
  config: ModelConfig,
  weights: LinearWeights,
  convolved: TensorName,
  columns: LinearColumns,
): RuleInputs {
  const { valueHeads, valueSize, keySize } = linearAttentionOf(config);
  const { keys, values } = linearWidths(config);
  const active = graph.op("com.microsoft.QuickGelu", [convolved], { alpha: { float: 1 } });
  const { query, key, value } = splitColumns(graph, active, { query: keys, key: keys, value: values });
  const unit = (columns: TensorName) => unitHeads(graph, config, columns).unit;
  const byHead = (numbers: TensorName) => reshape(graph, numbers, graph.integers(-1, valueHeads, 1, 1));
  return {
    query: repeated(graph, config, multiply(graph, unit(query), graph.scalar(keySize ** -0.5))),
    key: repeated(graph, config, unit(key)),
    value: reshape(graph, value, graph.integers(-1, valueHeads, 1, valueSize)),
    decay: byHead(graph.op("Exp", [logDecay(graph, weights, columns.step).total])),
    rate: byHead(graph.op("Sigmoid", [columns.rate])),
  };
}

/** Heads of queries or keys [tokens, key heads, size] as vectors of length one, and the factors that make them so. */
export function unitHeads(
  graph: Graph,
  config: ModelConfig,
  columns: TensorName,
): { unit: TensorName; factor: TensorName } {
  const { keyHeads, keySize } = linearAttentionOf(config);
  const heads = reshape(graph, columns, graph.integers(-1, keyHeads, keySize));
  const square = graph.op("ReduceSumSquare", [heads], { axes: [2], keepdims: 1 });
  const length = graph.op("Sqrt", [add(graph, square, graph.scalar(epsilon))]);
  const factor = graph.op("Reciprocal", [length]);
  return { unit: multiply(graph, heads, factor), factor };
}

/** The logarithm of the decay, [tokens, heads]: -exp(log decay) softplus(step + bias), and its parts. */
export function logDecay(graph: Graph, { logDecay: log, stepBias }: LinearWeights, step: TensorName) {
  const speed = graph.op("Neg", [graph.op("Exp", [log])]);
  const biased = add(graph, step, stepBias);
  return { total: multiply(graph, speed, graph.op("Softplus", [biased])), speed, biased };
}

/** Each head of queries or keys serves several heads of values: [tokens, key heads, size] as [tokens, heads, 1, size]. */
function repeated(graph: Graph, config: ModelConfig, heads: TensorName): TensorName {
  const { keyHeads, valueHeads, keySize } = linearAttentionOf(config);
  const apart = reshape(graph, heads, graph.integers(-1, keyHeads, 1, keySize));
  const copies = graph.op("Expand", [apart, graph.integers(1, 1, valueHeads / keyHeads, 1)]);
  return reshape(graph, copies, graph.integers(-1, valueHeads, 1, keySize));
}

/** One token of the rule. States are [.., heads, key, value], outputs [.., heads, 1, value]. */
export function ruleStep(graph: Graph, state: TensorName, inputs: RuleInputs) {
  const { query, key, value, decay, rate } = inputs;
  const decayed = multiply(graph, state, decay);
  const error = subtract(graph, value, matMul(graph, key, decayed));
  const change = multiply(graph, error, rate);
  const next = add(graph, decayed, batchedMatMul(graph, key, change, { transposeA: true }));
  return { decayed, error, change, state: next, output: matMul(graph, query, next) };
}

/** The sum of columns of a position and of those before it, by the weights of the convolution. `inputs`: along `axis`, kernel - 1 before. */
export function convolved(graph: Graph, config: ModelConfig, weight: TensorName, inputs: TensorName, axis: number) {
  const { kernel } = linearAttentionOf(config);
  return weightedParts(graph, weight, inputs, axis, (at) => [at, at - (kernel - 1)], kernel);
}

/** The gradient of the inputs of `convolved` by that of its result, after which along `axis` come kernel - 1 zeros. */
export function convolvedBackward(graph: Graph, config: ModelConfig, weight: TensorName, d: TensorName, axis: number) {
  const { kernel } = linearAttentionOf(config);
  return weightedParts(graph, weight, d, axis, (at) => [kernel - 1 - at, -at], kernel);
}

function weightedParts(
  graph: Graph,
  weight: TensorName,
  values: TensorName,
  axis: number,
  part: (at: number) => [start: number, end: number],
  kernel: number,
): TensorName {
  const along = graph.integers(axis);
  const products = Array.from({ length: kernel }, (_, at) => {
    const [start, end] = part(at);
    const until = graph.integers(end === 0 ? 2 ** 31 : end);
    const row = graph.op("Slice", [weight, graph.integers(at), graph.integers(at + 1), graph.integers(0)]);
    return multiply(graph, graph.op("Slice", [values, graph.integers(start), until, along]), row);
  });
  return products.reduce((sum, product) => add(graph, sum, product));
}

/** What is projected back to the stream, [tokens, values], given outputs [tokens, heads, 1, value]; and the normed outputs. */
export function gatedOutputs(
  graph: Graph,
  config: ModelConfig,
  { norm }: LinearWeights,
  outputs: TensorName,
  gate: TensorName,
): { gated: TensorName; normed: TensorName; scale: TensorName } {
  const { y, scale } = rmsNorm(graph, outputs, norm, config.normEpsilon);
  const normed = reshape(graph, y, graph.integers(-1, linearWidths(config).values));
  const active = graph.op("com.microsoft.QuickGelu", [gate], { alpha: { float: 1 } });
  return { gated: multiply(graph, normed, active), normed, scale };
}
