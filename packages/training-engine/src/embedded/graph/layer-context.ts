import type { ModelConfig } from "../../model/config.js";
import type { LoraConfig } from "../../model/parameters.js";
import type { Graph, TensorName } from "./onnx.js";

/** The layers of one trainer: their shape, and whether all weights learn or, with `adapter`, only its factors. */
export interface LayerVariant {
  config: ModelConfig;
  adapter?: LoraConfig;
}

/** A graph of one layer while it is built. Parameters are inputs under the name they have within their layer. */
export interface LayerContext extends LayerVariant {
  graph: Graph;
  /** Gradients so far, under the name of their parameter. */
  gradients: Map<string, TensorName>;
}

/** Notes the gradient of a base weight; with an adapter those are frozen, and nothing is computed. */
export function recordGradient(context: LayerContext, name: string, gradient: () => TensorName): void {
  if (!context.adapter) context.gradients.set(name, gradient());
}
