import type { ModelConfig } from "../model/config.js";
import type { Graph, TensorName } from "./onnx.js";
import { add, multiply, subtract } from "./operators.js";

/** What the last projection of a feed-forward block reads: the function of the gate times `up`. */
export function gatedProduct(graph: Graph, config: ModelConfig, gate: TensorName, up: TensorName): TensorName {
  if (config.limitedGate) return limitedProduct(graph, config.limitedGate, gate, up).product;
  if (config.activation === "gelu_tanh") return multiply(graph, graph.op("com.microsoft.FastGelu", [gate]), up);
  return multiply(graph, silu(graph, gate, 1), up);
}

/** `gatedProduct`, and the gradients of its inputs by that of the product. */
interface DifferentiatedProduct {
  product: TensorName;
  gradients: (dproduct: TensorName) => { dgate: TensorName; dup: TensorName };
}

export function differentiatedProduct(
  graph: Graph,
  config: ModelConfig,
  gate: TensorName,
  up: TensorName,
): DifferentiatedProduct {
  if (config.limitedGate) return differentiatedLimitedProduct(graph, config.limitedGate, gate, up);
  const { active, slope } =
    config.activation === "gelu_tanh" ? geluWithSlope(graph, gate) : siluWithSlope(graph, gate, 1);
  return {
    product: multiply(graph, active, up),
    gradients: (dproduct) => ({
      dup: multiply(graph, dproduct, active),
      dgate: multiply(graph, multiply(graph, dproduct, up), slope),
    }),
  };
}

/** `x sigmoid(factor x)` */
function silu(graph: Graph, x: TensorName, factor: number): TensorName {
  return graph.op("com.microsoft.QuickGelu", [x], { alpha: { float: factor } });
}

/** With s = sigmoid(f x): silu = x s, and silu' = s + f silu (1 - s). */
export function siluWithSlope(graph: Graph, x: TensorName, factor: number): { active: TensorName; slope: TensorName } {
  const times = (value: TensorName) => (factor === 1 ? value : multiply(graph, value, graph.scalar(factor)));
  const sigmoid = graph.op("Sigmoid", [times(x)]);
  const active = multiply(graph, x, sigmoid);
  const rest = multiply(graph, times(active), subtract(graph, graph.scalar(1), sigmoid));
  return { active, slope: add(graph, sigmoid, rest) };
}

type LimitedGate = NonNullable<ModelConfig["limitedGate"]>;

function limitedProduct(graph: Graph, { limit, slope }: LimitedGate, gate: TensorName, up: TensorName) {
  const limitedGate = graph.op("Min", [gate, graph.scalar(limit)]);
  const limitedUp = graph.op("Max", [graph.op("Min", [up, graph.scalar(limit)]), graph.scalar(-limit)]);
  const raised = add(graph, limitedUp, graph.scalar(1));
  return { limitedGate, raised, product: multiply(graph, raised, silu(graph, limitedGate, slope)) };
}

/** What is beyond a limit has no gradient. */
function differentiatedLimitedProduct(
  graph: Graph,
  limits: LimitedGate,
  gate: TensorName,
  up: TensorName,
): DifferentiatedProduct {
  const { limitedGate, raised, product } = limitedProduct(graph, limits, gate, up);
  const { active, slope } = siluWithSlope(graph, limitedGate, limits.slope);
  const isWithin = (value: TensorName) =>
    graph.op("Cast", [graph.op("LessOrEqual", [value, graph.scalar(limits.limit)])], { to: 1 });
  return {
    product,
    gradients: (dproduct) => ({
      dup: multiply(graph, multiply(graph, dproduct, active), isWithin(graph.op("Abs", [up]))),
      dgate: multiply(graph, multiply(graph, multiply(graph, dproduct, raised), slope), isWithin(gate)),
    }),
  };
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
