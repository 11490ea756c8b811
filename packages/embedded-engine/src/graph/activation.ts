import type { ModelConfig } from "../model/config.js";
import type { Graph, TensorName } from "./onnx.js";
import { add, multiply, subtract } from "./operators.js";

/** The function of the gate. */
export function activated(graph: Graph, { activation }: ModelConfig, gate: TensorName): TensorName {
  if (activation === "gelu_tanh") return graph.op("com.microsoft.FastGelu", [gate]);
  return graph.op("com.microsoft.QuickGelu", [gate], { alpha: { float: 1 } });
}

/** The function of the gate and its derivative. */
export function activatedWithSlope(
  graph: Graph,
  { activation }: ModelConfig,
  gate: TensorName,
): { active: TensorName; slope: TensorName } {
  if (activation === "gelu_tanh") return geluWithSlope(graph, gate);
  const sigmoid = graph.op("Sigmoid", [gate]);
  const active = multiply(graph, gate, sigmoid);
  // silu' = s + silu (1 - s)
  const slope = add(graph, sigmoid, multiply(graph, active, subtract(graph, graph.scalar(1), sigmoid)));
  return { active, slope };
}

/**
 * With u = c (x + 0.044715 x^3), c = sqrt(2 / pi) and h = (1 + tanh u) / 2: gelu = x h, and gelu' = h + 2 x h (1 - h) u',
 * because tanh' = 1 - tanh^2 = 4 h (1 - h).
 */
function geluWithSlope(graph: Graph, x: TensorName): { active: TensorName; slope: TensorName } {
  const cubic = 0.044715;
  const scale = Math.sqrt(2 / Math.PI);
  const times = (value: TensorName, factor: number) => multiply(graph, value, graph.scalar(factor));
  const plus = (value: TensorName, term: number) => add(graph, value, graph.scalar(term));
  const square = multiply(graph, x, x);
  const inner = multiply(graph, x, plus(times(square, scale * cubic), scale));
  const half = times(plus(graph.op("Tanh", [inner]), 1), 0.5);
  const active = multiply(graph, x, half);
  const inside = plus(times(square, 3 * scale * cubic), scale);
  const rest = multiply(graph, active, subtract(graph, graph.scalar(1), half));
  return { active, slope: add(graph, half, times(multiply(graph, rest, inside), 2)) };
}
