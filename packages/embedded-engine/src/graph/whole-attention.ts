import { attentionProbabilities, grouped, joinHeads, queryWidth, ungrouped } from "./head-layout.js";
import { scoreScale } from "../model/layer-kinds.js";
import type { LayerContext } from "./layer-context.js";
import type { TensorName } from "./onnx.js";
import { batchedMatMul, multiply, subtract } from "./operators.js";

/** After the rotary embedding: [batch, heads, time, head], with fewer heads of keys and values. */
export interface AttentionInputs {
  query: TensorName;
  key: TensorName;
  value: TensorName;
}

export interface AttentionGradients {
  dquery: TensorName;
  dkey: TensorName;
  dvalue: TensorName;
}

/** Gradient of the heads' outputs, [batch, heads, time, head], and its product with them by row, [.., time, 1]. */
export interface AttentionOutputGradient {
  doutput: TensorName;
  rowSums: TensorName;
}

/** Computes all scores of the batch at once. */
export function wholeAttention(
  context: LayerContext,
  { query, key, value }: AttentionInputs,
): { mixed: TensorName; probabilities: TensorName } {
  const { graph, config } = context;
  const scores = batchedMatMul(graph, grouped(context, query), key, { transposeB: true, scale: scoreScale(config) });
  const probabilities = attentionProbabilities(context, scores, "mask");
  const output = ungrouped(context, batchedMatMul(graph, probabilities, value));
  return { mixed: joinHeads(context, output, queryWidth(config)), probabilities };
}

/** With dP = dO V^T: dS = P (dP - rowsum(dP P)), where the row sum is the product of the output and its gradient. */
export function wholeAttentionBackward(
  context: LayerContext,
  { query, key, value, probabilities = "" }: AttentionInputs & { probabilities?: TensorName },
  { doutput, rowSums }: AttentionOutputGradient,
): AttentionGradients {
  const { graph, config } = context;
  const scale = scoreScale(config);
  const dgrouped = grouped(context, doutput);
  const dprobabilities = batchedMatMul(graph, dgrouped, value, { transposeB: true });
  const dvalue = batchedMatMul(graph, probabilities, dgrouped, { transposeA: true });
  const dscores = multiply(graph, probabilities, subtract(graph, dprobabilities, grouped(context, rowSums, 1)));
  const dquery = ungrouped(context, batchedMatMul(graph, dscores, key, { scale }));
  const dkey = batchedMatMul(graph, dscores, grouped(context, query), { transposeA: true, scale });
  return { dquery, dkey, dvalue };
}
