import type { ModelConfig } from "../model/config.js";
import type { LayerContext } from "./layer-context.js";
import { activated, activatedWithSlope } from "./activation.js";
import { expertsBackward, expertsForward } from "./experts.js";
import { addedGradient, addToStream, readAgain, readGradient, readsNormed, readStream } from "./block-norm.js";
import type { Dimension, TensorName } from "./onnx.js";
import { multiply } from "./operators.js";
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

const expertWeights = { router: "router", gateUp: "gate_up", down: "down" };

export function feedForwardValues(context: LayerContext, middle: TensorName): FeedForwardValues {
  const { y, scale } = readStream(context, "feed_forward", middle);
  if (context.config.experts) return { ...(scale && { feedForwardScale: scale }) };
  const { gate, up } = project(context, gateUp(context.config), y);
  return { ...(scale && { feedForwardScale: scale }), gate, up };
}

/** The residual stream after the block, which adds `(silu(gate) up) W_down`. */
export function feedForwardOutput(
  context: LayerContext,
  middle: TensorName,
  { feedForwardScale: scale, gate = "", up = "" }: FeedForwardValues,
): TensorName {
  const { graph, config } = context;
  if (config.experts) {
    const read = readAgain(context, "feed_forward", middle, scale);
    return addToStream(context, "feed_forward", middle, expertsForward(graph, config, expertWeights, read));
  }
  const active = multiply(graph, activated(graph, config, gate), up);
  const { down } = project(context, downward(config), active);
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
      expertsForward(graph, config, expertWeights, x),
    );
    const dread = expertsBackward(graph, config, expertWeights, { x, doutput: dexperts });
    return readGradient(context, "feed_forward", { x: middle, scale, dstream: doutput, dread });
  }
  const { active, slope } = activatedWithSlope(graph, config, gate);
  const product = multiply(graph, active, up);
  const ddown = addedGradient(context, "feed_forward", doutput, () => project(context, downward(config), product).down);
  const dproduct = projectBackward(context, downward(config), product, { down: ddown });
  const dup = multiply(graph, dproduct, active);
  const dgate = multiply(graph, multiply(graph, dproduct, up), slope);
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
