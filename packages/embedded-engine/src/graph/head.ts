import type { ModelConfig } from "../model/config.js";
import { rmsNorm, rmsNormBackward } from "./norm.js";
import type { TensorName } from "./onnx.js";
import { Graph } from "./onnx.js";
import { multiply, sumOver, matMul, matMulTransposed, transposedMatMul } from "./operators.js";

/**
 * Builds the final norm and the output head over selected rows of the residual stream. Inputs: `x` [rows, hidden],
 * `final_norm`, `head` [vocabulary, hidden] (the embedding, when tied) and `targets` [rows, 1]. Outputs: `logprobs`
 * [rows, 1] of the targets and, with `entropy`, `entropies` [rows, 1] in nats.
 */
export function headForwardGraph(config: ModelConfig, { entropy }: { entropy: boolean }): Uint8Array<ArrayBuffer> {
  const graph = new Graph();
  const { logprobs } = begin(graph, config);
  if (entropy) {
    const products = multiply(graph, graph.op("Exp", [logprobs]), logprobs);
    graph.output("entropies", graph.op("Neg", [sumOver(graph, products, [1], { keep: true })]), ["rows", 1]);
  }
  return graph.build();
}

/**
 * Like `headForwardGraph`, with the additional input `coefficients` [rows, 1], the derivative of the loss by each
 * log-probability. Outputs: `logprobs`, `dx` and, with `trainsWeights`, `d.head` and `d.final_norm`.
 */
export function headBackwardGraph(
  config: ModelConfig,
  { trainsWeights }: { trainsWeights: boolean },
): Uint8Array<ArrayBuffer> {
  const { vocabularySize, hiddenSize, logitScale } = config;
  const graph = new Graph();
  const { logprobs, y, scale } = begin(graph, config);
  const coefficients = graph.input("coefficients", ["rows", 1]);
  // d logits = c (onehot - softmax): the one-hot term is added in place, without a matrix of its own.
  const all = multiply(graph, graph.op("Exp", [logprobs]), graph.op("Neg", [coefficients]));
  const dlogits = graph.op("ScatterElements", [all, "targets", coefficients], { axis: 1, reduction: "add" });
  const dy = matMul(graph, dlogits, "head");
  const scaled = (value: TensorName) =>
    logitScale === undefined ? value : multiply(graph, value, graph.scalar(logitScale));
  const { dx, dgain } = rmsNormBackward(graph, { x: "x", scale, gain: "final_norm", dy: scaled(dy) });
  graph.output("dx", dx, ["rows", hiddenSize]);
  if (trainsWeights) {
    graph.output("d.head", transposedMatMul(graph, dlogits, y, { scale: logitScale ?? 1 }), [
      vocabularySize,
      hiddenSize,
    ]);
    graph.output("d.final_norm", dgain(), [hiddenSize]);
  }
  return graph.build();
}

function begin(graph: Graph, config: ModelConfig): { logprobs: TensorName; y: TensorName; scale: TensorName } {
  const { vocabularySize, hiddenSize } = config;
  graph.input("x", ["rows", hiddenSize]);
  graph.input("final_norm", [hiddenSize]);
  graph.input("head", [vocabularySize, hiddenSize]);
  graph.input("targets", ["rows", 1], "int32");
  const { y, scale } = rmsNorm(graph, "x", "final_norm", config.normEpsilon);
  const logits = matMulTransposed(graph, y, "head", { scale: config.logitScale ?? 1 });
  const logprobs = graph.op("LogSoftmax", [logits], { axis: -1 });
  graph.output("logprobs", graph.op("GatherElements", [logprobs, "targets"], { axis: 1 }), ["rows", 1]);
  return { logprobs, y, scale };
}
