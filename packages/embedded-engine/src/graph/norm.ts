import type { Graph, TensorName } from "./onnx.js";
import { multiply, subtract, sumOver } from "./operators.js";

/** Root-mean-square norm over the last dimension: `y = x scale gain` with `scale = 1 / sqrt(mean(x^2) + epsilon)`. */
export function rmsNorm(
  graph: Graph,
  x: TensorName,
  gain: TensorName,
  epsilon: number,
): { y: TensorName; scale: TensorName } {
  return graph.ops(
    "SimplifiedLayerNormalization",
    [x, gain],
    { axis: -1, epsilon: { float: epsilon }, stash_type: 1 },
    ["y", "scale"],
  );
}

/** Recomputes the output of `rmsNorm` from its input and stored scale: two products instead of a stored tensor. */
export function normed(graph: Graph, x: TensorName, scale: TensorName, gain: TensorName): TensorName {
  return multiply(graph, multiply(graph, x, scale), gain);
}

/**
 * Returns the gradients of the norm. With xhat = x scale and t = dy gain: `dx = scale (t - xhat mean(t xhat))` and
 * `dgain = sum dy xhat` over all dimensions but the last.
 */
export function rmsNormBackward(
  graph: Graph,
  {
    x,
    scale,
    gain,
    dy,
    rank = 2,
  }: { x: TensorName; scale: TensorName; gain: TensorName; dy: TensorName; rank?: number },
): { dx: TensorName; dgain: () => TensorName } {
  const xhat = multiply(graph, x, scale);
  const product = multiply(graph, dy, xhat);
  const mean = graph.op("ReduceMean", [multiply(graph, product, gain)], { axes: [-1], keepdims: 1 });
  const t = multiply(graph, dy, gain);
  const dx = multiply(graph, subtract(graph, t, multiply(graph, xhat, mean)), scale);
  const rows = Array.from({ length: rank - 1 }, (_, axis) => axis);
  return { dx, dgain: () => sumOver(graph, product, rows) };
}
