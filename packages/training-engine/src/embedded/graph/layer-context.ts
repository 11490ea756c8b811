import type { ModelConfig } from "../../model/config.js";
import type { AdapterConfig } from "../../model/parameters.js";
import type { Graph, Value } from "./onnx.js";

/** The layers of one trainer: their shape, and whether all weights learn or, with `adapter`, only its factors. */
export interface LayerKind {
  config: ModelConfig;
  adapter?: AdapterConfig;
}

/** A graph of one layer while it is built. Parameters are inputs under the name they have within their layer. */
export interface LayerContext extends LayerKind {
  graph: Graph;
  /** Gradients so far, under the name of their parameter. */
  gradients: Map<string, Value>;
}

/** Notes the gradient of a base weight; with an adapter those are frozen, and nothing is computed. */
export function learn(context: LayerContext, name: string, gradient: () => Value): void {
  if (!context.adapter) context.gradients.set(name, gradient());
}
