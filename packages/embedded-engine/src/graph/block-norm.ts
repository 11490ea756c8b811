import type { ModelConfig } from "../model/config.js";
import type { LayerContext } from "./layer-context.js";
import { recordGradient } from "./layer-context.js";
import { normed, rmsNorm, rmsNormBackward } from "./norm.js";
import type { TensorName } from "./onnx.js";
import { add, multiply } from "./operators.js";

// What is around a block of a layer (attention or feed-forward): the norm of what it reads, and the norm and the factor of what it
// adds to the residual stream. A model may have neither norm.

type Block = "attention" | "feed_forward";

/** What the block reads, given the residual stream `x`; `scale` is that of the norm, absent without one. */
export function readStream(
  { graph, config }: LayerContext,
  block: Block,
  x: TensorName,
): { y: TensorName; scale?: TensorName } {
  return readsNormed(config) ? rmsNorm(graph, x, `${block}_norm`, config.normEpsilon) : { y: x };
}

/** As `readStream`, of the stored scale. */
export function readAgain(
  { graph, config }: LayerContext,
  block: Block,
  x: TensorName,
  scale: TensorName | undefined,
): TensorName {
  return readsNormed(config) ? normed(graph, x, scale ?? "", `${block}_norm`) : x;
}

/** The residual stream after the block, of which `output` is the result. */
export function addToStream(context: LayerContext, block: Block, x: TensorName, output: TensorName): TensorName {
  const { graph, config } = context;
  const added = config.norms ? rmsNorm(graph, output, `${block}_after_norm`, config.normEpsilon).y : output;
  return add(graph, x, scaled(context, added));
}

/**
 * Returns the gradient of the block's result, given that of the residual stream after it.
 *
 * @param output adds the result to the graph again. It is not called without a norm of it.
 */
export function addedGradient(
  context: LayerContext,
  block: Block,
  dstream: TensorName,
  output: () => TensorName,
): TensorName {
  const { graph, config } = context;
  const dadded = scaled(context, dstream);
  if (!config.norms) return dadded;
  const gain = `${block}_after_norm`;
  const x = output();
  const { scale } = rmsNorm(graph, x, gain, config.normEpsilon);
  const { dx, dgain } = rmsNormBackward(graph, { x, scale, gain, dy: dadded });
  recordGradient(context, gain, dgain);
  return dx;
}

/** Returns the gradient of the residual stream before the block, given those after it and of what the block reads. */
export function readGradient(
  context: LayerContext,
  block: Block,
  {
    x,
    scale,
    dstream,
    dread,
  }: { x: TensorName; scale: TensorName | undefined; dstream: TensorName; dread: TensorName },
): TensorName {
  const { graph, config } = context;
  if (!readsNormed(config)) return add(graph, dstream, dread);
  const gain = `${block}_norm`;
  const { dx, dgain } = rmsNormBackward(graph, { x, scale: scale ?? "", gain, dy: dread });
  recordGradient(context, gain, dgain);
  return add(graph, dstream, dx);
}

export function readsNormed({ norms }: ModelConfig): boolean {
  return norms !== "after";
}

function scaled({ graph, config }: LayerContext, value: TensorName): TensorName {
  return config.residualScale === undefined ? value : multiply(graph, value, graph.scalar(config.residualScale));
}
