import type { ModelConfig } from "../../model/config.js";
import {
  adapterParameters,
  modelParameters,
  projectionShape,
  type AdapterConfig,
  type AdapterTarget,
  type ParameterSet,
} from "../../model/parameters.js";
import type { Graph, Value } from "../graph/onnx.js";

/** What a graph that only infers is made for. */
export interface GraphVariant {
  config: ModelConfig;
  /** Its factors are inputs of the graph; their scale `alpha / rank` is inside. */
  adapter?: AdapterConfig;
  /** Weights inside the graph, which the library repacks for speed; absent: weights are inputs. */
  constants?: ParameterSet;
}

/** The parts of a transformer layer that do not look at other positions; activations are [positions, width]. */
export interface Blocks {
  embed(tokens: Value): Value;
  firstNorm(x: Value): Value;
  /** Queries, keys and values of layer `layer`, [positions, heads * headSize] each. */
  attentionInputs(h: Value, layer: number): { q: Value; k: Value; v: Value };
  /** RMS norm over the last axis of [.., headSize], where the family has it. */
  headNorm(x: Value, which: "query" | "key", layer: number): Value;
  /** From the heads' outputs [positions, heads * headSize] to the inputs of the next layer, or of the head after the last. */
  finish(x: Value, attended: Value, layer: number): { x: Value; h: Value };
  /** Logits [positions, vocabulary] of normed activations. */
  logits(h: Value): Value;
}

export function buildBlocks(graph: Graph, { config, adapter, constants }: GraphVariant): Blocks {
  const weights = new Map<string, Value>();
  for (const { name, shape } of modelParameters(config)) {
    const view = constants?.views.get(name);
    weights.set(name, view ? graph.constant(view, shape) : graph.input(name, shape));
  }
  if (adapter) {
    for (const { name, shape } of adapterParameters(config, adapter)) weights.set(name, graph.input(name, shape));
  }
  const weight = (name: string): Value => {
    const value = weights.get(name);
    if (value === undefined) throw new Error(`the graph has no weight ${name}`);
    return value;
  };
  const epsilon = { float: config.normEpsilon };
  const norm = (x: Value, gain: string) =>
    graph.op("SimplifiedLayerNormalization", [x, weight(gain)], { axis: -1, epsilon, stash_type: 1 });
  const addAndNorm = (x: Value, y: Value, gain: string) => {
    const outputs = ["normed", "mean", "deviation", "sum"] as const;
    const all = graph.ops("com.microsoft.SkipSimplifiedLayerNormalization", [x, y, weight(gain)], { epsilon }, outputs);
    return { x: all.sum, h: all.normed };
  };
  /** Adds what the adapter makes of `x` to a projection of it. */
  const adapt = (y: Value, x: Value, layer: number, target: AdapterTarget): Value => {
    if (!adapter?.targets.includes(target)) return y;
    const at = `layers.${layer}.${target}`;
    const low = graph.op("MatMul", [x, weight(`${at}.a`)]);
    return graph.op("Gemm", [low, weight(`${at}.b`), y], { alpha: { float: adapter.alpha / adapter.rank } });
  };
  const widthOf = (target: AdapterTarget) => projectionShape(config, target)[1];

  return {
    embed: (tokens) => graph.op("Gather", [weight("embedding"), tokens], { axis: 0 }),
    firstNorm: (x) => norm(x, "layers.0.attention_norm"),
    attentionInputs(h, layer) {
      const projection = weight(`layers.${layer}.qkv`);
      const qkv = config.attentionBias
        ? graph.op("Gemm", [h, projection, weight(`layers.${layer}.qkv_bias`)])
        : graph.op("MatMul", [h, projection]);
      const widths = graph.integers(widthOf("q"), widthOf("k"), widthOf("v"));
      const { q, k, v } = graph.ops("Split", [qkv, widths], { axis: 1 }, ["q", "k", "v"]);
      return { q: adapt(q, h, layer, "q"), k: adapt(k, h, layer, "k"), v: adapt(v, h, layer, "v") };
    },
    headNorm: (x, which, layer) => (config.queryKeyNorm ? norm(x, `layers.${layer}.${which}_norm`) : x),
    finish(x, attended, layer) {
      const at = `layers.${layer}`;
      const output = graph.op("MatMul", [attended, weight(`${at}.attention_output`)]);
      const middle = addAndNorm(x, adapt(output, attended, layer, "o"), `${at}.feed_forward_norm`);
      const both = graph.op("MatMul", [middle.h, weight(`${at}.gate_up`)]);
      const widths = graph.integers(config.feedForwardSize, config.feedForwardSize);
      const split = graph.ops("Split", [both, widths], { axis: 1 }, ["gate", "up"]);
      const gate = adapt(split.gate, middle.h, layer, "gate");
      const up = adapt(split.up, middle.h, layer, "up");
      const silu = graph.op("com.microsoft.QuickGelu", [gate], { alpha: { float: 1 } });
      const active = graph.op("Mul", [silu, up]);
      const down = adapt(graph.op("MatMul", [active, weight(`${at}.down`)]), active, layer, "down");
      const next = layer + 1 < config.layers ? `layers.${layer + 1}.attention_norm` : "final_norm";
      return addAndNorm(middle.x, down, next);
    },
    logits: (h) => graph.op("Gemm", [h, weight(config.tiedEmbeddings ? "embedding" : "head")], { transB: 1 }),
  };
}
