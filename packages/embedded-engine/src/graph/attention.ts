import type { ModelConfig } from "../model/config.js";
import { blockwiseAttention, blockwiseAttentionBackward } from "./blockwise-attention.js";
import { joinHeads, keyWidth, queryWidth, swapHeadsAndTime } from "./head-layout.js";
import type { LayerContext } from "./layer-context.js";
import { recordGradient } from "./layer-context.js";
import { addedGradient, addToStream, readAgain, readGradient, readsNormed, readStream } from "./block-norm.js";
import { rotaryWidth } from "../model/layer-kinds.js";
import { rmsNorm, rmsNormBackward } from "./norm.js";
import type { Dimension, TensorName } from "./onnx.js";
import { multiply, reshape, subtract, sumOver } from "./operators.js";
import { rotated } from "./rotated.js";
import type { Projection } from "./projection.js";
import { project, projectBackward } from "./projection.js";
import { wholeAttention, wholeAttentionBackward } from "./whole-attention.js";

/** Values of the forward pass that the backward pass of attention needs. */
export interface AttentionValues {
  /** Of the norm of what attention reads, if it has one. */
  attentionScale?: TensorName;
  /** After the rotary embedding: [batch, heads, time, head]. */
  query: TensorName;
  key: TensorName;
  value: TensorName;
  /** [batch, key heads, queries of the group, time]; absent in blocks, where the backward pass computes them again. */
  probabilities?: TensorName;
  /** Weighted values of all heads, concatenated: [tokens, queries]. */
  mixed: TensorName;
  /** The residual stream after attention. */
  middle: TensorName;
  /**
   * Queries and keys before their norm, [batch, time, heads, head], or [tokens, width] where the norm is over all heads, and
   * the scales of the norm. Only with `queryKeyNorm`.
   */
  rawQuery?: TensorName;
  rawKey?: TensorName;
  queryScale?: TensorName;
  keyScale?: TensorName;
  /** Of the outputs of all heads: [tokens, queries]. Only with `outputGate`. */
  outputGate?: TensorName;
}

/**
 * Declares the graph inputs other than weights: rotary tables, the mask, and the shapes that depend on the batch. In
 * blocks, the mask is that of the last block's queries.
 */
export function attentionInputs({ graph, config, attention }: LayerContext, { backward = false } = {}): void {
  const half = rotaryWidth(config) / 2;
  graph.input("cosines", ["time", half]);
  graph.input("sines", ["time", half]);
  graph.input("query_shape", [4], "int64");
  graph.input("key_shape", [4], "int64");
  if (backward) graph.input("negative_sines", ["time", half]);
  graph.input("mask", [attention === "blocks" ? "block" : "time", "time"]);
  if (attention === "blocks") {
    graph.input("blocks", [], "int64");
    graph.input("block_length", [1], "int64");
  }
  graph.input("score_shape", [4], "int64");
  graph.input("group_shape", [4], "int64");
}

export function attentionForward(context: LayerContext, x: TensorName): AttentionValues {
  const { graph, config } = context;
  const { y, scale } = readStream(context, "attention", x);
  const { q, k, v } = project(context, qkv(config), y);
  const isWide = config.wideQueryKeyNorm === true;
  const { queries, gates } = config.outputGate ? withoutGates(context, q) : { queries: q };
  let query = isWide ? queries : reshape(graph, queries, "query_shape");
  let key = isWide ? k : reshape(graph, k, "key_shape");
  let raw: Pick<AttentionValues, "rawQuery" | "rawKey" | "queryScale" | "keyScale"> = {};
  if (config.queryKeyNorm) {
    const normedQuery = rmsNorm(graph, query, "query_norm", config.normEpsilon);
    const normedKey = rmsNorm(graph, key, "key_norm", config.normEpsilon);
    raw = { rawQuery: query, rawKey: key, queryScale: normedQuery.scale, keyScale: normedKey.scale };
    query = isWide ? reshape(graph, normedQuery.y, "query_shape") : normedQuery.y;
    key = isWide ? reshape(graph, normedKey.y, "key_shape") : normedKey.y;
  }
  query = rotate(context, swapHeadsAndTime(context, query), "query", "sines");
  key = rotate(context, swapHeadsAndTime(context, key), "key", "sines");
  const value = swapHeadsAndTime(context, reshape(graph, v, "key_shape"));
  const attended = context.attention === "blocks" ? blockwiseAttention : wholeAttention;
  const { mixed, probabilities } = attended(context, { query, key, value });
  const { o } = project(context, output(config), gated(context, mixed, gates));
  const middle = addToStream(context, "attention", x, o);
  return {
    ...(scale && { attentionScale: scale }),
    query,
    key,
    value,
    mixed,
    middle,
    ...raw,
    ...(probabilities && { probabilities }),
    ...(gates && { outputGate: gates }),
  };
}

/** Returns the gradient of the layer's input, given the gradient of `middle`. */
export function attentionBackward(
  context: LayerContext,
  x: TensorName,
  values: AttentionValues,
  dmiddle: TensorName,
): TensorName {
  const { graph, config } = context;
  const { mixed, outputGate: gates } = values;
  const out = gated(context, mixed, gates);
  const doutput = addedGradient(context, "attention", dmiddle, () => project(context, output(config), out).o);
  const dout = projectBackward(context, output(config), out, { o: doutput });
  const dmixed = gated(context, dout, gates);
  const inner = sumOver(graph, reshape(graph, multiply(graph, dmixed, mixed), "query_shape"), [3], {
    keep: true,
  });
  const rowSums = swapHeadsAndTime(context, inner);
  const dheads = swapHeadsAndTime(context, reshape(graph, dmixed, "query_shape"));
  const attended = context.attention === "blocks" ? blockwiseAttentionBackward : wholeAttentionBackward;
  const { dquery, dkey, dvalue } = attended(context, values, { doutput: dheads, rowSums });
  const dqueries = backToColumns(context, dquery, "query", values.rawQuery, values.queryScale);
  const q = gates === undefined ? dqueries : withGates(context, dqueries, gateGradient(context, dout, mixed, gates));
  const k = backToColumns(context, dkey, "key", values.rawKey, values.keyScale);
  const v = joinHeads(context, dvalue, keyWidth(config));
  const scale = values.attentionScale;
  const dread = projectBackward(context, qkv(config), readAgain(context, "attention", x, scale), { q, k, v });
  return readGradient(context, "attention", { x, scale, dstream: dmiddle, dread });
}

/** Dimensions of `AttentionValues`, in a fixed order. */
export function attentionDimensions(config: ModelConfig): Record<string, Dimension[]> {
  const { heads, keyValueHeads, headSize, hiddenSize } = config;
  return {
    ...(readsNormed(config) && { attentionScale: ["tokens", 1] }),
    query: ["batch", heads, "time", headSize],
    key: ["batch", keyValueHeads, "time", headSize],
    value: ["batch", keyValueHeads, "time", headSize],
    probabilities: ["batch", keyValueHeads, "group", "time"],
    mixed: ["tokens", queryWidth(config)],
    ...(config.outputGate && { outputGate: ["tokens", queryWidth(config)] }),
    middle: ["tokens", hiddenSize],
    ...(config.queryKeyNorm &&
      config.wideQueryKeyNorm && {
        rawQuery: ["tokens", queryWidth(config)],
        rawKey: ["tokens", keyWidth(config)],
        queryScale: ["tokens", 1],
        keyScale: ["tokens", 1],
      }),
    ...(config.queryKeyNorm &&
      !config.wideQueryKeyNorm && {
        rawQuery: ["batch", "time", heads, headSize],
        rawKey: ["batch", "time", keyValueHeads, headSize],
        queryScale: ["batch", "time", heads, 1],
        keyScale: ["batch", "time", keyValueHeads, 1],
      }),
  };
}

function backToColumns(
  context: LayerContext,
  gradient: TensorName,
  kind: "query" | "key",
  raw: TensorName | undefined,
  scale: TensorName | undefined,
): TensorName {
  const { graph, config } = context;
  const width = kind === "query" ? queryWidth(config) : keyWidth(config);
  const unrotated = rotate(context, gradient, kind, "negative_sines");
  if (raw === undefined || scale === undefined) return joinHeads(context, unrotated, width);
  const isWide = config.wideQueryKeyNorm === true;
  const dy = isWide ? joinHeads(context, unrotated, width) : swapHeadsAndTime(context, unrotated);
  const gain = `${kind}_norm`;
  const { dx, dgain } = rmsNormBackward(graph, { x: raw, scale, gain, dy, rank: isWide ? 2 : 4 });
  recordGradient(context, gain, dgain);
  return isWide ? dx : reshape(graph, dx, graph.integers(-1, width));
}

/** Splits the columns of queries and gates, which each head has next to each other. */
function withoutGates({ graph, config }: LayerContext, both: TensorName): { queries: TensorName; gates: TensorName } {
  const byHead = reshape(graph, both, graph.integers(-1, config.heads, 2 * config.headSize));
  const sizes = graph.integers(config.headSize, config.headSize);
  const { queries, gates } = graph.ops("Split", [byHead, sizes], { axis: 2 }, ["queries", "gates"]);
  const columns = graph.integers(-1, queryWidth(config));
  return { queries: reshape(graph, queries, columns), gates: reshape(graph, gates, columns) };
}

/** Reverses `withoutGates`. */
function withGates({ graph, config }: LayerContext, queries: TensorName, gates: TensorName): TensorName {
  const byHead = (values: TensorName) => reshape(graph, values, graph.integers(-1, config.heads, config.headSize));
  const both = graph.op("Concat", [byHead(queries), byHead(gates)], { axis: 2 });
  return reshape(graph, both, graph.integers(-1, 2 * queryWidth(config)));
}

function gated({ graph }: LayerContext, values: TensorName, gates: TensorName | undefined): TensorName {
  return gates === undefined ? values : multiply(graph, values, graph.op("Sigmoid", [gates]));
}

function gateGradient({ graph }: LayerContext, dout: TensorName, mixed: TensorName, gates: TensorName): TensorName {
  const sigmoid = graph.op("Sigmoid", [gates]);
  const slope = multiply(graph, sigmoid, subtract(graph, graph.scalar(1), sigmoid));
  return multiply(graph, multiply(graph, dout, mixed), slope);
}

function qkv(config: ModelConfig): Projection<"q" | "k" | "v"> {
  const queries = (config.outputGate ? 2 : 1) * queryWidth(config);
  const widths = { q: queries, k: keyWidth(config), v: keyWidth(config) };
  return { weight: "qkv", bias: config.attentionBias ? "qkv_bias" : undefined, widths };
}

function output(config: ModelConfig): Projection<"o"> {
  return {
    weight: "attention_output",
    ...(config.outputBias && { bias: "attention_output_bias" }),
    widths: { o: config.hiddenSize },
  };
}

function rotate({ graph, config }: LayerContext, value: TensorName, kind: "query" | "key", sines: string): TensorName {
  const start = graph.constant(BigInt64Array.of(0n), [1], "int64");
  return rotated(graph, config, kind, [value, start, "cosines", sines]);
}
