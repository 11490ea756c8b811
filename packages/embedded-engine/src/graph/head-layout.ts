import type { ModelConfig } from "../model/config.js";
import { attentionShares } from "./attention-sinks.js";
import type { LayerContext } from "./layer-context.js";
import type { TensorName } from "./onnx.js";
import { reshape } from "./operators.js";

/** Width of the queries of all heads. */
export function queryWidth({ heads, headSize }: ModelConfig): number {
  return heads * headSize;
}

/** Width of the keys, and of the values, of all heads. */
export function keyWidth({ keyValueHeads, headSize }: ModelConfig): number {
  return keyValueHeads * headSize;
}

export function swapHeadsAndTime({ graph }: LayerContext, value: TensorName): TensorName {
  return graph.op("Transpose", [value], { perm: [0, 2, 1, 3] });
}

/** [batch, heads, time, head] as [tokens, width] */
export function joinHeads(context: LayerContext, value: TensorName, width: number): TensorName {
  const { graph } = context;
  return reshape(graph, swapHeadsAndTime(context, value), graph.integers(-1, width));
}

// Query heads that share a key head are rows of one matrix: [batch, key heads, group x time, …]. Keys and values are
// not repeated, and their gradients are summed by the product.

export function grouped({ graph, config }: LayerContext, value: TensorName, width = config.headSize): TensorName {
  if (config.heads === config.keyValueHeads) return value;
  return reshape(graph, value, graph.integers(0, config.keyValueHeads, -1, width));
}

export function ungrouped({ graph, config }: LayerContext, value: TensorName): TensorName {
  if (config.heads === config.keyValueHeads) return value;
  return reshape(graph, value, graph.integers(0, config.heads, -1, config.headSize));
}

/** Returns the probabilities of attention by masked scores [batch, key heads, queries of the group, time]. */
export function attentionProbabilities(context: LayerContext, scores: TensorName, mask: TensorName): TensorName {
  const { graph, config } = context;
  const repeated = config.heads !== config.keyValueHeads;
  const byHead = repeated ? reshape(graph, scores, "score_shape") : scores;
  const masked = graph.op("Add", [byHead, mask]);
  if (config.attentionSinks) {
    const sinks = reshape(graph, "sinks", graph.integers(1, config.heads, 1, 1));
    const shares = attentionShares(graph, masked, sinks);
    return repeated ? reshape(graph, shares, "group_shape") : shares;
  }
  return attentionShares(graph, repeated ? reshape(graph, masked, "group_shape") : masked);
}
