import type { Graph, Value } from "./onnx.js";

/** a b */
export function times(graph: Graph, a: Value, b: Value): Value {
  return graph.op("MatMul", [a, b]);
}

/** scale a b^T (+ sum), of matrices. */
export function timesTransposed(graph: Graph, a: Value, b: Value, { scale = 1, sum = "" } = {}): Value {
  return graph.op("Gemm", sum ? [a, b, sum] : [a, b], { transB: 1, alpha: { float: scale } });
}

/** scale a^T b, of matrices: how the gradient of a weight comes out of its inputs and the gradient of its outputs. */
export function transposedTimes(graph: Graph, a: Value, b: Value, { scale = 1 } = {}): Value {
  return graph.op("Gemm", [a, b], { transA: 1, alpha: { float: scale } });
}

/** Product of the last two dimensions, for each of the first ones. */
export function batchedProduct(
  graph: Graph,
  a: Value,
  b: Value,
  { transposeA = false, transposeB = false, scale = 1 } = {},
): Value {
  return graph.op("com.microsoft.FusedMatMul", [a, b], {
    transA: transposeA ? 1 : 0,
    transB: transposeB ? 1 : 0,
    alpha: { float: scale },
  });
}

export function add(graph: Graph, a: Value, b: Value): Value {
  return graph.op("Add", [a, b]);
}

export function multiply(graph: Graph, a: Value, b: Value): Value {
  return graph.op("Mul", [a, b]);
}

export function subtract(graph: Graph, a: Value, b: Value): Value {
  return graph.op("Sub", [a, b]);
}

/** Sum over some dimensions, which are gone, or 1 with `keep`. */
export function sumOver(graph: Graph, value: Value, axes: readonly number[], { keep = false } = {}): Value {
  return graph.op("ReduceSum", [value, graph.integers(...axes)], { keepdims: keep ? 1 : 0 });
}

export function reshape(graph: Graph, value: Value, shape: Value): Value {
  return graph.op("Reshape", [value, shape]);
}

/** Cuts the columns of a matrix into parts of the given widths. */
export function splitColumns<Name extends string>(
  graph: Graph,
  value: Value,
  parts: Readonly<Record<Name, number>>,
): Record<Name, Value> {
  const names = Object.keys(parts) as Name[];
  return graph.ops("Split", [value, graph.integers(...names.map((name) => parts[name]))], { axis: 1 }, names);
}

export function joinColumns(graph: Graph, values: readonly Value[]): Value {
  return graph.op("Concat", values, { axis: 1 });
}
