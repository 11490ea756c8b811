import { isLinearLayer } from "../model/layer-kinds.js";
import type { ModelParameter } from "../model/parameters.js";
import { adapterParameters, modelParameters } from "../model/parameters.js";
import type { AttentionValues } from "./attention.js";
import { attentionBackward, attentionDimensions, attentionForward, attentionInputs } from "./attention.js";
import type { FeedForwardValues } from "./feed-forward.js";
import { feedForwardBackward, feedForwardDimensions, feedForwardOutput, feedForwardValues } from "./feed-forward.js";
import type { LayerContext, LayerVariant } from "./layer-context.js";
import type { LinearValues } from "./linear-layer.js";
import { linearBackward, linearDimensions, linearForward } from "./linear-layer.js";
import type { Dimension } from "./onnx.js";
import { Graph } from "./onnx.js";

// One graph is used for every layer of a form (with attention or linear attention) and every batch shape: weights are inputs, batch and time are symbolic dimensions.

type LayerValues = (AttentionValues | LinearValues) & FeedForwardValues;

/**
 * Returns the parameters of one layer, named as within the layer: those of the base model, then the adapter's factors.
 */
export function layerParameters({ config, adapter, layer = 0 }: LayerVariant): ModelParameter[] {
  const upTo = { ...config, layers: layer + 1 };
  const base = modelParameters(upTo);
  const factors = adapter ? adapterParameters(upTo, adapter) : [];
  const prefix = `layers.${layer}.`;
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
  const attention = mixForward(context);
  const values: LayerValues = { ...attention, ...feedForwardValues(context, attention.middle) };
  graph.output("y", feedForwardOutput(context, values.middle, values), ["tokens", config.hiddenSize]);
  if (mode === "keep") {
    const byName = new Map<string, string | undefined>(Object.entries(values));
    for (const [name, dimensions] of Object.entries(keptDimensions(context))) {
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
  const dx = isLinear(context)
    ? linearBackward(context, "x", values, dmiddle)
    : attentionBackward(context, "x", values as AttentionValues, dmiddle);
  graph.output("dx", dx, ["tokens", config.hiddenSize]);
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
  const attention = mixForward(context);
  return { ...attention, ...feedForwardValues(context, attention.middle) };
}

function keptInputs(context: LayerContext): LayerValues {
  const inputs = Object.entries(keptDimensions(context)).map(
    ([name, dimensions]) => [name, context.graph.input(name, dimensions)] as const,
  );
  return Object.fromEntries(inputs) as unknown as LayerValues;
}

function isLinear({ config, layer = 0 }: LayerVariant): boolean {
  return isLinearLayer(config, layer);
}

/** What a layer adds to the stream before its feed-forward block. */
function mixForward(context: LayerContext): AttentionValues | LinearValues {
  return isLinear(context) ? linearForward(context, "x") : attentionForward(context, "x");
}

function keptDimensions(context: LayerContext): Record<string, Dimension[]> {
  const { config } = context;
  const mixing = isLinear(context) ? linearDimensions(config) : attentionDimensions(config);
  return { ...mixing, ...feedForwardDimensions(config) };
}
