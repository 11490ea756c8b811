import type { ModelConfig } from "../model/config.js";
import type { LayerContext } from "./layer-context.js";
import { recordGradient } from "./layer-context.js";
import { normed, rmsNorm, rmsNormBackward } from "./norm.js";
import type { Dimension, TensorName } from "./onnx.js";
import { add, multiply, subtract } from "./operators.js";
import type { Projection } from "./projection.js";
import { project, projectBackward } from "./projection.js";

/** Values of the forward pass that the backward pass of the feed-forward block needs. */
export interface FeedForwardValues {
  feedForwardScale: TensorName;
  gate: TensorName;
  up: TensorName;
}

export function feedForwardValues(context: LayerContext, middle: TensorName): FeedForwardValues {
  const { graph, config } = context;
  const { y, scale } = rmsNorm(graph, middle, "feed_forward_norm", config.normEpsilon);
  const { gate, up } = project(context, gateUp(config), y);
  return { feedForwardScale: scale, gate, up };
}

/** The residual stream after the block: `middle + (silu(gate) up) W_down`. */
export function feedForwardOutput(
  context: LayerContext,
  middle: TensorName,
  { gate, up }: FeedForwardValues,
): TensorName {
  const { graph, config } = context;
  const silu = graph.op("com.microsoft.QuickGelu", [gate], { alpha: { float: 1 } });
  const { down } = project(context, downward(config), multiply(graph, silu, up));
  return add(graph, middle, down);
}

/** Returns the gradient of `middle`, given the gradient of the output. */
export function feedForwardBackward(
  context: LayerContext,
  middle: TensorName,
  { feedForwardScale: scale, gate, up }: FeedForwardValues,
  doutput: TensorName,
): TensorName {
  const { graph, config } = context;
  const sigmoid = graph.op("Sigmoid", [gate]);
  const silu = multiply(graph, gate, sigmoid);
  const dactivation = projectBackward(context, downward(config), multiply(graph, silu, up), { down: doutput });
  const dup = multiply(graph, dactivation, silu);
  // silu' = s + silu (1 - s)
  const slope = add(graph, sigmoid, multiply(graph, silu, subtract(graph, graph.scalar(1), sigmoid)));
  const dgate = multiply(graph, multiply(graph, dactivation, up), slope);
  const y = normed(graph, middle, scale, "feed_forward_norm");
  const dy = projectBackward(context, gateUp(config), y, { gate: dgate, up: dup });
  const { dx, dgain } = rmsNormBackward(graph, { x: middle, scale, gain: "feed_forward_norm", dy });
  recordGradient(context, "feed_forward_norm", dgain);
  return add(graph, doutput, dx);
}

export function feedForwardDimensions(config: ModelConfig): Record<string, Dimension[]> {
  return {
    feedForwardScale: ["tokens", 1],
    gate: ["tokens", config.feedForwardSize],
    up: ["tokens", config.feedForwardSize],
  };
}

function gateUp(config: ModelConfig): Projection<"gate" | "up"> {
  const bias = config.feedForwardBias && { bias: "gate_up_bias" };
  return { weight: "gate_up", ...bias, widths: { gate: config.feedForwardSize, up: config.feedForwardSize } };
}

function downward(config: ModelConfig): Projection<"down"> {
  return { weight: "down", ...(config.feedForwardBias && { bias: "down_bias" }), widths: { down: config.hiddenSize } };
}
