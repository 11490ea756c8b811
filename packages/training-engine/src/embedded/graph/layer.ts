import type { ModelConfig } from "../../model/config.js";
import type { ModelParameter } from "../../model/parameters.js";
import { adapterParameters, modelParameters } from "../../model/parameters.js";
import type { AttentionValues } from "./attention.js";
import { attentionBackward, attentionDimensions, attentionForward, attentionInputs } from "./attention.js";
import type { FeedForwardValues } from "./feed-forward.js";
import { feedForwardBackward, feedForwardDimensions, feedForwardOutput, feedForwardValues } from "./feed-forward.js";
import type { LayerContext, LayerVariant } from "./layer-context.js";
import type { Dimension } from "./onnx.js";
import { Graph } from "./onnx.js";

// One graph serves every layer and every batch shape: weights are inputs, batch and time are free dimensions.

type LayerValues = AttentionValues & FeedForwardValues;

/** Weights of one layer, named as within the layer: those of the base model, then the factors of the adapter. */
export function layerParameters({ config, adapter }: LayerVariant): ModelParameter[] {
  const base = modelParameters({ ...config, layers: 1 });
  const factors = adapter ? adapterParameters({ ...config, layers: 1 }, adapter) : [];
  const prefix = "layers.0.";
  return [...base, ...factors]
    .filter(({ name }) => name.startsWith(prefix))
    .map((parameter) => Object.assign({}, parameter, { name: parameter.name.slice(prefix.length) }));
}

/** Input `x` [tokens, hidden]; output `y` of the same shape and, with `keep`, all that the way back wants to know. */
export function layerForwardGraph(variant: LayerVariant, { keep }: { keep: boolean }): Uint8Array<ArrayBuffer> {
  const context = begin(variant);
  const { graph, config } = context;
  attentionInputs(context);
  const attention = attentionForward(context, "x");
  const values: LayerValues = { ...attention, ...feedForwardValues(context, attention.middle) };
  graph.output("y", feedForwardOutput(context, values.middle, values), ["tokens", config.hiddenSize]);
  if (keep) {
    const byName = new Map<string, string | undefined>(Object.entries(values));
    for (const [name, dimensions] of Object.entries(keptDimensions(config))) {
      graph.output(name, byName.get(name) ?? "", dimensions);
    }
  }
  return graph.build();
}

/**
 * Inputs `x`, `dy` and, with `kept`, what the forward pass kept, which is computed again otherwise. Outputs `dx` and
 * `d.<parameter>` for every parameter that learns.
 */
export function layerBackwardGraph(variant: LayerVariant, { kept }: { kept: boolean }): Uint8Array<ArrayBuffer> {
  const context = begin(variant);
  const { graph, config } = context;
  attentionInputs(context, { backward: true });
  graph.input("dy", ["tokens", config.hiddenSize]);
  const values = kept ? keptInputs(context) : recomputed(context);
  const dmiddle = feedForwardBackward(context, values.middle, values, "dy");
  graph.output("dx", attentionBackward(context, "x", values, dmiddle), ["tokens", config.hiddenSize]);
  for (const { name, shape } of layerParameters(variant)) {
    const gradient = context.gradients.get(name);
    if (gradient !== undefined) graph.output(`d.${name}`, gradient, shape);
  }
  return graph.build();
}

function begin(variant: LayerVariant): LayerContext {
  const graph = new Graph();
  graph.input("x", ["tokens", variant.config.hiddenSize]);
  for (const { name, shape } of layerParameters(variant)) graph.input(name, shape);
  return { ...variant, graph, gradients: new Map() };
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
