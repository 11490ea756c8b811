import type { LoraConfig, LoraTarget } from "@heddle/training";
import { loraTargets } from "@heddle/training";
import type { ModelConfig } from "./config.js";
import { isLinearLayer, linearAttentionOf, linearWidths } from "./layer-kinds.js";

/** A weight matrix or vector. `offset` counts elements of the flat array of all weights. */
export interface ModelParameter {
  name: string;
  /** Row-major. A projection is [inputs, outputs]: activations are multiplied from the left. */
  shape: number[];
  offset: number;
  size: number;
}

/** All weights of a model, or their gradients or moments, in one array with a view per parameter. */
export interface ParameterSet {
  parameters: ModelParameter[];
  flat: Float32Array;
  views: Map<string, Float32Array>;
}

/**
 * Returns the parameters of a model in the order of the flat array. The query, key and value projections are columns of
 * one matrix (`qkv`), and so are gate and up (`gate_up`): one multiplication each.
 */
export function modelParameters(config: ModelConfig): ModelParameter[] {
  const { vocabularySize, hiddenSize, heads, keyValueHeads, headSize, feedForwardSize } = config;
  const queries = heads * headSize;
  const { experts } = config;
  const each = experts ? [experts.count] : [];
  const qkv = (config.outputGate ? 2 : 1) * queries + 2 * keyValueHeads * headSize;
  const shapes: [string, number[]][] = [["embedding", [vocabularySize, hiddenSize]]];
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `layers.${layer}.`;
    if (config.norms !== "after") shapes.push([`${at}attention_norm`, [hiddenSize]]);
    if (isLinearLayer(config, layer)) shapes.push(...linearShapes(config, at));
    else {
      shapes.push([`${at}qkv`, [hiddenSize, qkv]]);
      if (config.attentionBias) shapes.push([`${at}qkv_bias`, [qkv]]);
      if (config.queryKeyNorm) {
        const [query, key] = queryKeyNormWidths(config);
        shapes.push([`${at}query_norm`, [query]], [`${at}key_norm`, [key]]);
      }
      if (config.attentionSinks) shapes.push([`${at}sinks`, [heads]]);
      shapes.push([`${at}attention_output`, [queries, hiddenSize]]);
      if (config.outputBias) shapes.push([`${at}attention_output_bias`, [hiddenSize]]);
    }
    if (config.norms) shapes.push([`${at}attention_after_norm`, [hiddenSize]]);
    if (config.norms !== "after") shapes.push([`${at}feed_forward_norm`, [hiddenSize]]);
    if (experts) shapes.push([`${at}router`, [hiddenSize, experts.count]]);
    if (experts?.hasBiases) shapes.push([`${at}router_bias`, [experts.count]]);
    const hasBias = config.feedForwardBias ?? experts?.hasBiases;
    shapes.push([`${at}gate_up`, [...each, hiddenSize, 2 * feedForwardSize]]);
    if (hasBias) shapes.push([`${at}gate_up_bias`, [...each, 2 * feedForwardSize]]);
    shapes.push([`${at}down`, [...each, feedForwardSize, hiddenSize]]);
    if (hasBias) shapes.push([`${at}down_bias`, [...each, hiddenSize]]);
    if (experts?.sharedWidth !== undefined) shapes.push(...sharedExpertShapes(hiddenSize, experts.sharedWidth, at));
    if (config.norms) shapes.push([`${at}feed_forward_after_norm`, [hiddenSize]]);
  }
  shapes.push(["final_norm", [hiddenSize]]);
  if (!config.tiedEmbeddings) shapes.push(["head", [vocabularySize, hiddenSize]]);
  return layOut(shapes);
}

function sharedExpertShapes(hiddenSize: number, width: number, at: string): [string, number[]][] {
  return [
    [`${at}shared_gate_up`, [hiddenSize, 2 * width]],
    [`${at}shared_down`, [width, hiddenSize]],
    [`${at}shared_weight`, [hiddenSize, 1]],
  ];
}

/** `linear_input`: columns of queries, keys, values, output gates, rates and steps. */
function linearShapes(config: ModelConfig, at: string): [string, number[]][] {
  const { valueHeads, valueSize, kernel } = linearAttentionOf(config);
  const { values, mixed } = linearWidths(config);
  return [
    [`${at}linear_input`, [config.hiddenSize, mixed + values + 2 * valueHeads]],
    [`${at}convolution`, [kernel, mixed]],
    [`${at}log_decay`, [valueHeads]],
    [`${at}step_bias`, [valueHeads]],
    [`${at}linear_norm`, [valueSize]],
    [`${at}linear_output`, [values, config.hiddenSize]],
  ];
}

/** Returns what the norms of queries and of keys are over. */
export function queryKeyNormWidths(config: ModelConfig): [query: number, key: number] {
  const { wideQueryKeyNorm, heads, keyValueHeads, headSize } = config;
  return wideQueryKeyNorm ? [heads * headSize, keyValueHeads * headSize] : [headSize, headSize];
}

/** Whether a layer has a projection of this name: linear attention has none of those that adapters change. */
export function hasProjection(config: ModelConfig, layer: number, target: LoraTarget): boolean {
  return !isLinearLayer(config, layer) || target === "gate" || target === "up" || target === "down";
}

/** Returns the input and output width of a projection; with `outputGate`, queries and gates of each head. */
export function projectionShape(config: ModelConfig, target: LoraTarget): [inputs: number, outputs: number] {
  const { hiddenSize, feedForwardSize } = config;
  const queries = config.heads * config.headSize;
  const keys = config.keyValueHeads * config.headSize;
  const shapes: Record<LoraTarget, [number, number]> = {
    q: [hiddenSize, config.outputGate ? 2 * queries : queries],
    k: [hiddenSize, keys],
    v: [hiddenSize, keys],
    o: [queries, hiddenSize],
    gate: [hiddenSize, feedForwardSize],
    up: [hiddenSize, feedForwardSize],
    down: [feedForwardSize, hiddenSize],
  };
  return shapes[target];
}

/**
 * Returns the two factors of every adapted projection, `a` [inputs, rank] before `b` [rank, outputs], layer by layer.
 */
export function adapterParameters(config: ModelConfig, adapter: LoraConfig): ModelParameter[] {
  const shapes: [string, number[]][] = [];
  for (let layer = 0; layer < config.layers; layer++) {
    const own = loraTargets.filter((each) => adapter.targets.includes(each) && hasProjection(config, layer, each));
    for (const target of own) {
      const [inputs, outputs] = projectionShape(config, target);
      shapes.push([`layers.${layer}.${target}.a`, [inputs, adapter.rank]]);
      shapes.push([`layers.${layer}.${target}.b`, [adapter.rank, outputs]]);
    }
  }
  return layOut(shapes);
}

export function parameterCount(parameters: ModelParameter[]): number {
  const last = parameters.at(-1);
  return last ? last.offset + last.size : 0;
}

/** Creates views on `flat`, or on a new array of zeros. */
export function parameterSet(
  parameters: ModelParameter[],
  flat = new Float32Array(parameterCount(parameters)),
): ParameterSet {
  const views = new Map(
    parameters.map(({ name, offset, size }) => [name, flat.subarray(offset, offset + size)] as const),
  );
  return { parameters, flat, views };
}

function layOut(shapes: [string, number[]][]): ModelParameter[] {
  let offset = 0;
  return shapes.map(([name, shape]) => {
    const size = shape.reduce((product, length) => product * length, 1);
    const parameter = { name, shape, offset, size };
    offset += size;
    return parameter;
  });
}
