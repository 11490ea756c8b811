import type { ModelConfig } from "../model/config.js";
import type { ModelParameter } from "../model/parameters.js";
import { adapterParameters, modelParameters } from "../model/parameters.js";
import type { AttentionValues } from "./attention.js";
import { attentionBackward, attentionDimensions, attentionForward, attentionInputs } from "./attention.js";
import type { FeedForwardValues } from "./feed-forward.js";
import { feedForwardBackward, feedForwardDimensions, feedForwardOutput, feedForwardValues } from "./feed-forward.js";
import type { LayerContext, LayerVariant } from "./layer-context.js";
import type { Dimension } from "./onnx.js";
import { Graph } from "./onnx.js";

// One graph is used for every layer and batch shape: weights are inputs, batch and time are symbolic dimensions.

type LayerValues = AttentionValues & FeedForwardValues;

/**
 * Returns the parameters of one layer, named as within the layer: those of the base model, then the adapter's factors.
 */
export function layerParameters({ config, adapter }: LayerVariant): ModelParameter[] {
  const base = modelParameters({ ...config, layers: 1 });
  const factors = adapter ? adapterParameters({ ...config, layers: 1 }, adapter) : [];
  const prefix = "layers.0.";
  return [...base, ...factors]
    .filter(({ name }) => name.startsWith(prefix))
    .map((parameter) => Object.assign({}, parameter, { name: parameter.name.slice(prefix.length) }));
}

/**
 * How a graph of a layer uses memory.
 *
 * - `keep`: all activations of the forward pass are kept for the backward pass.
 * - `whole`: nothing is kept, and all attention scores exist at once. There is no such backward pass.
 * - `blocks`: nothing is kept, and the attention scores of one block of queries exist at a time.
 */
export type LayerMode = "keep" | "whole" | "blocks";

/**
 * Builds the forward pass of a layer. Input: `x` [tokens, hidden]. Outputs: `y` of the same shape and, with `keep`, the
 * activations that the backward pass needs.
 */
export function layerForwardGraph(variant: LayerVariant, mode: LayerMode): Uint8Array<ArrayBuffer> {
  const context = begin(variant, mode);
  const { graph, config } = context;
  attentionInputs(context);
  const attention = attentionForward(context, "x");
  const values: LayerValues = { ...attention, ...feedForwardValues(context, attention.middle) };
  graph.output("y", feedForwardOutput(context, values.middle, values), ["tokens", config.hiddenSize]);
  if (mode === "keep") {
    const byName = new Map<string, string | undefined>(Object.entries(values));
    for (const [name, dimensions] of Object.entries(keptDimensions(config))) {
      graph.output(name, byName.get(name) ?? "", dimensions);
    }
  }
  return graph.build();
}

/**
 * Builds the backward pass of a layer. Inputs: `x`, `dy` and, with `keep`, the activations of the forward pass, which
 * are recomputed otherwise. Outputs: `dx` and `d.<parameter>` for every trained parameter.
 */
export function layerBackwardGraph(variant: LayerVariant, mode: "keep" | "blocks"): Uint8Array<ArrayBuffer> {
  const context = begin(variant, mode);
  const { graph, config } = context;
  attentionInputs(context, { backward: true });
  graph.input("dy", ["tokens", config.hiddenSize]);
  const values = mode === "keep" ? keptInputs(context) : recomputed(context);
  const dmiddle = feedForwardBackward(context, values.middle, values, "dy");
  graph.output("dx", attentionBackward(context, "x", values, dmiddle), ["tokens", config.hiddenSize]);
  for (const { name, shape } of layerParameters(variant)) {
    const gradient = context.gradients.get(name);
    if (gradient !== undefined) graph.output(`d.${name}`, gradient, shape);
  }
  return graph.build();
}

function begin(variant: LayerVariant, mode: LayerMode): LayerContext {
  const graph = new Graph();
  graph.input("x", ["tokens", variant.config.hiddenSize]);
  for (const { name, shape } of layerParameters(variant)) graph.input(name, shape);
  return { ...variant, graph, attention: mode === "blocks" ? "blocks" : "whole", gradients: new Map() };
}

function recomputed(context: LayerContext): LayerValues {
  const attention = attentionForward(context, "x");
  return { ...attention, ...feedForwardValues(context, attention.middle) };
}

function keptInputs({ graph, config }: LayerContext): LayerValues {
  const inputs = Object.entries(keptDimensions(config)).map(
    ([name, dimensions]) => [name, graph.input(name, dimensions)] as const,
  );
  return Object.fromEntries(inputs) as unknown as LayerValues;
}

function keptDimensions(config: ModelConfig): Record<string, Dimension[]> {
  return { ...attentionDimensions(config), ...feedForwardDimensions(config) };
}
