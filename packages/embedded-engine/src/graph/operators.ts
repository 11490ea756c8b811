import type { Graph, TensorName } from "./onnx.js";

/** a b */
export function matMul(graph: Graph, a: TensorName, b: TensorName): TensorName {
  return graph.op("MatMul", [a, b]);
}

/** scale a b^T (+ sum), of matrices. */
export function matMulTransposed(graph: Graph, a: TensorName, b: TensorName, { scale = 1, sum = "" } = {}): TensorName {
  return graph.op("Gemm", sum ? [a, b, sum] : [a, b], { transB: 1, alpha: { float: scale } });
}

/** scale a^T b, of matrices: the gradient of a weight from its inputs and the gradient of its outputs. */
export function transposedMatMul(graph: Graph, a: TensorName, b: TensorName, { scale = 1 } = {}): TensorName {
  return graph.op("Gemm", [a, b], { transA: 1, alpha: { float: scale } });
}

/** Matrix product over the last two dimensions, for each index of the leading ones. */
export function batchedMatMul(
  graph: Graph,
  a: TensorName,
  b: TensorName,
  { transposeA = false, transposeB = false, scale = 1 } = {},
): TensorName {
  return graph.op("com.microsoft.FusedMatMul", [a, b], {
    transA: transposeA ? 1 : 0,
    transB: transposeB ? 1 : 0,
    alpha: { float: scale },
  });
}

export function add(graph: Graph, a: TensorName, b: TensorName): TensorName {
  return graph.op("Add", [a, b]);
}

export function multiply(graph: Graph, a: TensorName, b: TensorName): TensorName {
  return graph.op("Mul", [a, b]);
}

export function subtract(graph: Graph, a: TensorName, b: TensorName): TensorName {
  return graph.op("Sub", [a, b]);
}

/** Sums over the given dimensions, which are removed or, with `keep`, have length 1. */
export function sumOver(graph: Graph, value: TensorName, axes: readonly number[], { keep = false } = {}): TensorName {
  return graph.op("ReduceSum", [value, graph.integers(...axes)], { keepdims: keep ? 1 : 0 });
}

export function reshape(graph: Graph, value: TensorName, shape: TensorName): TensorName {
  return graph.op("Reshape", [value, shape]);
}

/** Splits the columns of a matrix into parts of the given widths. */
export function splitColumns<Name extends string>(
  graph: Graph,
  value: TensorName,
  parts: Readonly<Record<Name, number>>,
): Record<Name, TensorName> {
  const names = Object.keys(parts) as Name[];
  return graph.ops("Split", [value, graph.integers(...names.map((name) => parts[name]))], { axis: 1 }, names);
}

export function joinColumns(graph: Graph, values: readonly TensorName[]): TensorName {
  return graph.op("Concat", values, { axis: 1 });
}
