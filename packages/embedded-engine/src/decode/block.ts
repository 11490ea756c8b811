import type { LoraConfig, LoraTarget } from "@heddle/training";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import { gatedProduct } from "../graph/activation.js";
import { attentionShares } from "../graph/attention-sinks.js";
import { expertsForward, namedExpertWeights } from "../graph/experts.js";
import type { LinearWeights } from "../graph/linear-attention.js";
import { namedLinearWeights } from "../graph/linear-attention.js";
import { isLinearLayer } from "../model/layer-kinds.js";
import { adapterParameters, modelParameters, projectionShape } from "../model/parameters.js";
import type { Graph, TensorName } from "../graph/onnx.js";
import { batchedMatMul } from "../graph/operators.js";
import { isProjection } from "./outputs-first.js";

/** Variants of an inference graph. */
export interface GraphVariant {
  config: ModelConfig;
  /**
   * Configuration of an adapter whose factors are graph inputs; the scale `alpha / rank` is a constant of the graph.
   */
  adapter?: LoraConfig;
  /** Weights to embed in the graph, where the library repacks them for speed. Absent: weights are inputs. */
  constants?: ParameterSet;
  /**
   * Of projections that are inputs as [outputs, inputs]; see `outputs-first.ts`. Absent: they are [inputs, outputs].
   *
   * - `first`: the weight is the first operand, which is fastest for a few tokens.
   * - `second`: fastest for one token, and for many.
   */
  outputsFirst?: "first" | "second";
}

interface AttentionInputs {
  q: TensorName;
  k: TensorName;
  v: TensorName;
  /** Of the outputs of the heads; see `ModelConfig.outputGate`. */
  gate?: TensorName;
}

/** The parts of a transformer layer that do not attend to other positions. Activations are [positions, width]. */
export interface Blocks {
  embed(tokens: TensorName): TensorName;
  firstNorm(x: TensorName): TensorName;
  /** Queries, keys and values of layer `layer`, [positions, heads * headSize] each. */
  attentionInputs(h: TensorName, layer: number): AttentionInputs;
  /** The weights of a layer of linear attention. */
  linearWeights(layer: number): LinearWeights;
  /** RMS norm over the last axis of [.., headSize], for models that have it. */
  headNorm(x: TensorName, which: "query" | "key", layer: number): TensorName;
  /** Shares of attention by masked scores of four dimensions, of which `byHead` has those of the heads, and 1 elsewhere. */
  shares(masked: TensorName, layer: number, byHead: readonly number[]): TensorName;
  /**
   * Computes the inputs of the next layer, or of the head after the last layer, from the outputs of the attention heads
   * [positions, heads * headSize], or from those of linear attention, and their gate.
   */
  finish(x: TensorName, attended: TensorName, layer: number, gate?: TensorName): { x: TensorName; h: TensorName };
  /** Logits [positions, vocabulary] of normalised activations. */
  logits(h: TensorName): TensorName;
}

export function buildBlocks(graph: Graph, { config, adapter, constants, outputsFirst }: GraphVariant): Blocks {
  const weights = new Map<string, TensorName>();
  for (const parameter of modelParameters(config)) {
    const { name } = parameter;
    const shape = outputsFirst && isProjection(parameter) ? parameter.shape.toReversed() : parameter.shape;
    const view = constants?.views.get(name);
    weights.set(name, view ? graph.constant(view, shape) : graph.input(name, shape));
  }
  if (adapter) {
    for (const { name, shape } of adapterParameters(config, adapter)) weights.set(name, graph.input(name, shape));
  }
  const weight = (name: string): TensorName => {
    const value = weights.get(name);
    if (value === undefined) throw new Error(`the graph has no weight ${name}`);
    return value;
  };
  const epsilon = { float: config.normEpsilon };
  const norm = (x: TensorName, gain: string) =>
    graph.op("SimplifiedLayerNormalization", [x, weight(gain)], { axis: -1, epsilon, stash_type: 1 });
  const addAndNorm = (x: TensorName, y: TensorName, gain: string) => {
    const outputs = ["normed", "mean", "deviation", "sum"] as const;
    const all = graph.ops("com.microsoft.SkipSimplifiedLayerNormalization", [x, y, weight(gain)], { epsilon }, outputs);
    return { x: all.sum, h: all.normed };
  };
  /**
   * Adds what a block computes to the residual stream `x`. `next`: the norm that the next block reads the stream through; absent
   * where it reads the stream itself.
   */
  const addBlock = (x: TensorName, output: TensorName, after: string, next: string | undefined) => {
    let added = config.norms ? norm(output, after) : output;
    if (config.residualScale !== undefined) added = graph.op("Mul", [added, graph.scalar(config.residualScale)]);
    if (next !== undefined) return addAndNorm(x, added, next);
    const sum = graph.op("Add", [x, added]);
    return { x: sum, h: sum };
  };
  const reading = (name: string) => (config.norms === "after" ? undefined : name);
  const wideNorm = (x: TensorName, name: string) => (config.wideQueryKeyNorm ? norm(x, name) : x);
  /** Adds the adapter's product with `x` to a projection of `x`. */
  const addAdapter = (y: TensorName, x: TensorName, layer: number, target: LoraTarget): TensorName => {
    if (!adapter?.targets.includes(target)) return y;
    const at = `layers.${layer}.${target}`;
    const low = graph.op("MatMul", [x, weight(`${at}.a`)]);
    return graph.op("Gemm", [low, weight(`${at}.b`), y], { alpha: { float: adapter.alpha / adapter.rank } });
  };
  /** x W, plus the bias of the projection if the model has one. */
  const project = (x: TensorName, name: string, hasBias: boolean | undefined): TensorName => {
    const bias = hasBias ? [weight(`${name}_bias`)] : [];
    if (outputsFirst === "first") {
      const product = weightFirst(graph, weight(name), x);
      return hasBias ? graph.op("Add", [product, ...bias]) : product;
    }
    if (outputsFirst) return graph.op("Gemm", [x, weight(name), ...bias], { transB: 1 });
    return hasBias ? graph.op("Gemm", [x, weight(name), ...bias]) : graph.op("MatMul", [x, weight(name)]);
  };
  /** Splits what each head has next to each other: queries and their gates. */
  const withoutGate = (both: TensorName): { queries: TensorName; gate?: TensorName } => {
    if (!config.outputGate) return { queries: both };
    const { heads, headSize } = config;
    const byHead = graph.op("Reshape", [both, graph.integers(-1, heads, 2 * headSize)]);
    const { q, gate } = graph.ops("Split", [byHead, graph.integers(headSize, headSize)], { axis: 2 }, ["q", "gate"]);
    const flat = (values: TensorName) => graph.op("Reshape", [values, graph.integers(-1, heads * headSize)]);
    return { queries: flat(q), gate: flat(gate) };
  };
  const widthOf = (target: LoraTarget) => projectionShape(config, target)[1];

  return {
    embed(tokens) {
      const x = graph.op("Gather", [weight("embedding"), tokens], { axis: 0 });
      if (config.embeddingScale === undefined) return x;
      return graph.op("Mul", [x, graph.scalar(config.embeddingScale)]);
    },
    firstNorm: (x) => (config.norms === "after" ? x : norm(x, "layers.0.attention_norm")),
    attentionInputs(h, layer) {
      const qkv = project(h, `layers.${layer}.qkv`, config.attentionBias);
      const widths = graph.integers(widthOf("q"), widthOf("k"), widthOf("v"));
      const { q: both, k, v } = graph.ops("Split", [qkv, widths], { axis: 1 }, ["q", "k", "v"]);
      const { queries, gate } = withoutGate(addAdapter(both, h, layer, "q"));
      return {
        ...(gate && { gate }),
        q: wideNorm(queries, `layers.${layer}.query_norm`),
        k: wideNorm(addAdapter(k, h, layer, "k"), `layers.${layer}.key_norm`),
        v: addAdapter(v, h, layer, "v"),
      };
    },
    headNorm: (x, which, layer) =>
      config.queryKeyNorm && !config.wideQueryKeyNorm ? norm(x, `layers.${layer}.${which}_norm`) : x,
    shares(masked, layer, byHead) {
      if (!config.attentionSinks) return attentionShares(graph, masked);
      const sinks = graph.op("Reshape", [weight(`layers.${layer}.sinks`), graph.integers(...byHead)]);
      return attentionShares(graph, masked, sinks);
    },
    linearWeights: (layer) => namedLinearWeights((name) => weight(`layers.${layer}.${name}`)),
    finish(x, outputs, layer, outputGate) {
      const at = `layers.${layer}`;
      const attended =
        outputGate === undefined ? outputs : graph.op("Mul", [outputs, graph.op("Sigmoid", [outputGate])]);
      const adapted = isLinearLayer(config, layer)
        ? graph.op("MatMul", [attended, weight(`${at}.linear_output`)])
        : addAdapter(project(attended, `${at}.attention_output`, config.outputBias), attended, layer, "o");
      const middle = addBlock(x, adapted, `${at}.attention_after_norm`, reading(`${at}.feed_forward_norm`));
      const next = layer + 1 < config.layers ? reading(`layers.${layer + 1}.attention_norm`) : "final_norm";
      if (config.experts) {
        const weights = namedExpertWeights(config, (name) => weight(`${at}.${name}`));
        const sum = expertsForward(graph, config, weights, middle.h);
        return addBlock(middle.x, sum, `${at}.feed_forward_after_norm`, next);
      }
      const both = project(middle.h, `${at}.gate_up`, config.feedForwardBias);
      const widths = graph.integers(config.feedForwardSize, config.feedForwardSize);
      const split = graph.ops("Split", [both, widths], { axis: 1 }, ["gate", "up"]);
      const gate = addAdapter(split.gate, middle.h, layer, "gate");
      const up = addAdapter(split.up, middle.h, layer, "up");
      const active = gatedProduct(graph, config, gate, up);
      const product = project(active, `${at}.down`, config.feedForwardBias);
      const down = addAdapter(product, active, layer, "down");
      return addBlock(middle.x, down, `${at}.feed_forward_after_norm`, next);
    },
    logits(h) {
      const head = weight(config.tiedEmbeddings ? "embedding" : "head");
      const { logitScale: scale = 1 } = config;
      if (outputsFirst === "first") return weightFirst(graph, head, h, scale);
      return graph.op("Gemm", [h, head], { transB: 1, alpha: { float: scale } });
    },
  };
}

/** scale x W^T of a weight W [outputs, inputs] and tokens x [tokens, inputs], as (W x^T)^T. */
function weightFirst(graph: Graph, weight: TensorName, x: TensorName, scale = 1): TensorName {
  const columns = batchedMatMul(graph, weight, x, { transposeB: true, scale });
  return graph.op("Transpose", [columns], { perm: [1, 0] });
}
