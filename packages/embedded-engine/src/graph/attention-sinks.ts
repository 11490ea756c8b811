import type { Graph, TensorName } from "./onnx.js";

/**
 * Returns the shares of attention: the softmax of masked scores over their last dimension of four.
 *
 * @param sinks one score by head that competes with those of the positions and is none of them, so that the shares sum to less
 *   than one; of a shape that is broadcast to that of the scores. Their derivative by the scores is that of a softmax. Absent: none.
 */
export function attentionShares(graph: Graph, masked: TensorName, sinks?: TensorName): TensorName {
  if (sinks === undefined) return graph.op("Softmax", [masked], { axis: -1 });
  const rows = graph.op("Shape", [masked], { start: 0, end: 3 });
  const column = graph.op("Expand", [sinks, graph.op("Concat", [rows, graph.integers(1)], { axis: 0 })]);
  const all = graph.op("Softmax", [graph.op("Concat", [masked, column], { axis: 3 })], { axis: -1 });
  return graph.op("Slice", [all, graph.integers(0), graph.integers(-1), graph.integers(3)]);
}
