import { attentionProbabilities, grouped, queryWidth, ungrouped } from "./head-layout.js";
import { scoreScale } from "../model/layer-kinds.js";
import type { LayerContext } from "./layer-context.js";
import type { Graph, TensorName } from "./onnx.js";
import { add, batchedMatMul, multiply, reshape, subtract } from "./operators.js";
import type { AttentionGradients, AttentionInputs, AttentionOutputGradient } from "./whole-attention.js";

// Attention in blocks of queries: the scores of one block exist at a time, against the keys up to its end. The graph
// inputs `blocks` and `block_length` divide the time exactly.

/** One block in the body of the loop. */
interface Block {
  /** The block's rows of a tensor [batch, heads, time, width]. */
  rows(value: TensorName): TensorName;
  /** The rows up to the end of the block. */
  rowsBefore(value: TensorName): TensorName;
  /** Appends zeros to a result of `rowsBefore` to the length of `whole`. */
  padded(value: TensorName, whole: TensorName): TensorName;
  /** [block, keys before its end] */
  mask: TensorName;
}

export function blockwiseAttention(
  context: LayerContext,
  inputs: AttentionInputs,
): { mixed: TensorName; probabilities?: undefined } {
  const { graph, config } = context;
  const { collected } = graph.loop("blocks", [], (index) => {
    const block = blockOf(graph, index);
    const { probabilities, value } = attendFromBlock(context, block, inputs);
    return { carried: [], collected: [ungrouped(context, batchedMatMul(graph, probabilities, value))] };
  });
  // [blocks, batch, heads, block, head]
  const byTime = graph.op("Transpose", [collected[0] ?? ""], { perm: [1, 0, 3, 2, 4] });
  return { mixed: reshape(graph, byTime, graph.integers(-1, queryWidth(config))) };
}

/** As `wholeAttentionBackward`, with the probabilities computed again. */
export function blockwiseAttentionBackward(
  context: LayerContext,
  inputs: AttentionInputs,
  { doutput, rowSums }: AttentionOutputGradient,
): AttentionGradients {
  const { graph, config } = context;
  const scale = scoreScale(config);
  const zeros = graph.op("ConstantOfShape", [graph.op("Shape", [inputs.key])]);
  const { carried, collected } = graph.loop("blocks", [zeros, zeros], (index, [dkey = "", dvalue = ""]) => {
    const block = blockOf(graph, index);
    const { probabilities, query, key, value } = attendFromBlock(context, block, inputs);
    const dblock = grouped(context, block.rows(doutput));
    const dprobabilities = batchedMatMul(graph, dblock, value, { transposeB: true });
    const sums = grouped(context, block.rows(rowSums), 1);
    const dscores = multiply(graph, probabilities, subtract(graph, dprobabilities, sums));
    const moreKey = batchedMatMul(graph, dscores, query, { transposeA: true, scale });
    const moreValue = batchedMatMul(graph, probabilities, dblock, { transposeA: true });
    return {
      carried: [
        add(graph, dkey, block.padded(moreKey, inputs.key)),
        add(graph, dvalue, block.padded(moreValue, inputs.key)),
      ],
      collected: [ungrouped(context, batchedMatMul(graph, dscores, key, { scale }))],
    };
  });
  // [blocks, batch, heads, block, head]
  const byHead = graph.op("Transpose", [collected[0] ?? ""], { perm: [1, 2, 0, 3, 4] });
  const dquery = reshape(graph, byHead, graph.integers(0, config.heads, -1, config.headSize));
  return { dquery, dkey: carried[0] ?? "", dvalue: carried[1] ?? "" };
}

function attendFromBlock(context: LayerContext, block: Block, inputs: AttentionInputs) {
  const { graph, config } = context;
  const query = grouped(context, block.rows(inputs.query));
  const key = block.rowsBefore(inputs.key);
  const value = block.rowsBefore(inputs.value);
  const scores = batchedMatMul(graph, query, key, { transposeB: true, scale: scoreScale(config) });
  return { query, key, value, probabilities: attentionProbabilities(context, scores, block.mask) };
}

function blockOf(graph: Graph, index: TensorName): Block {
  const length = "block_length";
  const time = graph.integers(2);
  const start = graph.op("Mul", [index, length]);
  const end = graph.op("Add", [start, length]);
  return {
    rows: (value) => graph.op("Slice", [value, start, end, time]),
    rowsBefore: (value) => graph.op("Slice", [value, graph.integers(0), end, time]),
    padded(value, whole) {
      const missing = graph.op("Sub", [graph.op("Shape", [whole], { start: 2, end: 3 }), end]);
      const pads = graph.op("Concat", [graph.integers(0, 0, 0, 0, 0, 0), missing, graph.integers(0)], { axis: 0 });
      return graph.op("Pad", [value, pads]);
    },
    // The mask is that of the last block of the time. An earlier one has as many keys fewer on the left.
    mask: graph.op("Slice", ["mask", graph.op("Neg", [end]), graph.integers(2 ** 31), graph.integers(1)]),
  };
}
