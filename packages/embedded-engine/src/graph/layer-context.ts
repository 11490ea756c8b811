import type { LoraConfig } from "@heddle/training";
import type { ModelConfig } from "../model/config.js";
import type { Graph, TensorName } from "./onnx.js";

/** The layers of one trainer. Without `adapter` all weights are trained, with it only the adapter's factors. */
export interface LayerVariant {
  config: ModelConfig;
  adapter?: LoraConfig;
  /** A layer of those that have the same graphs. Default: the first. */
  layer?: number;
}

/** A graph of one layer under construction. Parameters are inputs, named as within their layer. */
export interface LayerContext extends LayerVariant {
  graph: Graph;
  /** Attention: all scores at once, or those of one block of queries at a time, which are computed again backward. */
  attention: "whole" | "blocks";
  /** Gradients by parameter name. */
  gradients: Map<string, TensorName>;
}

/** Records the gradient of a base weight. With an adapter the base weights are frozen and nothing is computed. */
export function recordGradient(context: LayerContext, name: string, gradient: () => TensorName): void {
  if (!context.adapter) context.gradients.set(name, gradient());
}
