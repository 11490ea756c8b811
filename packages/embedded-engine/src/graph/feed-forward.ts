import type { ModelConfig } from "../model/config.js";
import type { LayerContext } from "./layer-context.js";
import { differentiatedProduct, gatedProduct } from "./activation.js";
import { expertsBackward, expertsForward, namedExpertWeights } from "./experts.js";
import { addedGradient, addToStream, readAgain, readGradient, readsNormed, readStream } from "./block-norm.js";
import type { Dimension, TensorName } from "./onnx.js";
import type { Projection } from "./projection.js";
import { project, projectBackward } from "./projection.js";

/** Values of the forward pass that the backward pass of the feed-forward block needs. */
export interface FeedForwardValues {
  /** Of the norm of what the block reads, if it has one. */
  feedForwardScale?: TensorName;
  /** Absent of a mixture of experts, which is computed again backward. */
  gate?: TensorName;
  up?: TensorName;
}

const expertWeights = (config: ModelConfig) => namedExpertWeights(config, (name) => name);

export function feedForwardValues(context: LayerContext, middle: TensorName): FeedForwardValues {
  const { y, scale } = readStream(context, "feed_forward", middle);
  if (context.config.experts) return { ...(scale && { feedForwardScale: scale }) };
  const { gate, up } = project(context, gateUp(context.config), y);
  return { ...(scale && { feedForwardScale: scale }), gate, up };
}

/** The residual stream after the block, which adds `product W_down`, see `gatedProduct`. */
export function feedForwardOutput(
  context: LayerContext,
  middle: TensorName,
  { feedForwardScale: scale, gate = "", up = "" }: FeedForwardValues,
): TensorName {
  const { graph, config } = context;
  if (config.experts) {
    const read = readAgain(context, "feed_forward", middle, scale);
    return addToStream(context, "feed_forward", middle, expertsForward(graph, config, expertWeights(config), read));
  }
  const { down } = project(context, downward(config), gatedProduct(graph, config, gate, up));
  return addToStream(context, "feed_forward", middle, down);
}

/** Returns the gradient of `middle`, given the gradient of the output. */
export function feedForwardBackward(
  context: LayerContext,
  middle: TensorName,
  { feedForwardScale: scale, gate = "", up = "" }: FeedForwardValues,
  doutput: TensorName,
): TensorName {
  const { graph, config } = context;
  if (config.experts) {
    const x = readAgain(context, "feed_forward", middle, scale);
    const dexperts = addedGradient(context, "feed_forward", doutput, () =>
      expertsForward(graph, config, expertWeights(config), x),
    );
    const dread = expertsBackward(graph, config, expertWeights(config), { x, doutput: dexperts });
    return readGradient(context, "feed_forward", { x: middle, scale, dstream: doutput, dread });
  }
  const { product, gradients } = differentiatedProduct(graph, config, gate, up);
  const ddown = addedGradient(context, "feed_forward", doutput, () => project(context, downward(config), product).down);
  const dproduct = projectBackward(context, downward(config), product, { down: ddown });
  const { dgate, dup } = gradients(dproduct);
  const read = readAgain(context, "feed_forward", middle, scale);
  const dread = projectBackward(context, gateUp(config), read, { gate: dgate, up: dup });
  return readGradient(context, "feed_forward", { x: middle, scale, dstream: doutput, dread });
}

export function feedForwardDimensions(config: ModelConfig): Record<string, Dimension[]> {
  return {
    ...(readsNormed(config) && { feedForwardScale: ["tokens", 1] }),
    ...(!config.experts && {
      gate: ["tokens", config.feedForwardSize],
      up: ["tokens", config.feedForwardSize],
    }),
  };
}

function gateUp(config: ModelConfig): Projection<"gate" | "up"> {
  const bias = config.feedForwardBias && { bias: "gate_up_bias" };
  return { weight: "gate_up", ...bias, widths: { gate: config.feedForwardSize, up: config.feedForwardSize } };
}

function downward(config: ModelConfig): Projection<"down"> {
  return { weight: "down", ...(config.feedForwardBias && { bias: "down_bias" }), widths: { down: config.hiddenSize } };
}
