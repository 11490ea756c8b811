import type { ModelConfig } from "../model/config.js";
import { rotatesWholeHeads, rotaryWidth } from "../model/layer-kinds.js";
import type { Graph, TensorName } from "./onnx.js";

/** Rotates heads [batch, heads, time, head]. Inputs: they, the first position or those of all, cosines and sines. */
export function rotated(
  graph: Graph,
  config: ModelConfig,
  kind: "query" | "key",
  inputs: [heads: TensorName, positions: TensorName, cosines: TensorName, sines: TensorName],
): TensorName {
  const part = !rotatesWholeHeads(config) && {
    rotary_embedding_dim: rotaryWidth(config),
    num_heads: kind === "query" ? config.heads : config.keyValueHeads,
  };
  return graph.op("com.microsoft.RotaryEmbedding", inputs, { interleaved: 0, ...part });
}
