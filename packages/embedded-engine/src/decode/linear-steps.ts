import type { ModelConfig } from "../model/config.js";
import { linearAttentionOf, linearStateSize, linearWidths } from "../model/layer-kinds.js";
import { convolved, gatedOutputs, linearColumns, ruleInputs, ruleStep } from "../graph/linear-attention.js";
import type { LinearWeights, RuleInputs } from "../graph/linear-attention.js";
import type { Graph, TensorName } from "../graph/onnx.js";

// Layers of linear attention in sampling. What a layer keeps of a sequence is a vector of `linearStateSize` numbers: the state of the
// rule [heads, key, value], then the columns of the last positions [kernel - 1, mixed].

interface Mixed {
  /** What is projected back to the stream: [positions, values]. */
  output: TensorName;
  /** What the layer keeps after the positions. */
  next: TensorName;
}

/** One token of each row; `kept` is [rows, size]. */
export function linearStep(
  graph: Graph,
  config: ModelConfig,
  weights: LinearWeights,
  { h, kept }: { h: TensorName; kept: TensorName },
): Mixed {
  const { valueHeads, keySize, valueSize, kernel } = linearAttentionOf(config);
  const { mixed } = linearWidths(config);
  const columns = linearColumns(graph, config, weights, h);
  const parts = graph.ops("Split", [kept, partSizes(graph, config)], { axis: 1 }, ["state", "before"]);
  const before = graph.op("Reshape", [parts.before, graph.integers(-1, kernel - 1, mixed)]);
  const own = graph.op("Unsqueeze", [columns.mixed, graph.integers(1)]);
  const inputs = graph.op("Concat", [before, own], { axis: 1 });
  const sums = graph.op("Squeeze", [convolved(graph, config, weights.convolution, inputs, 1), graph.integers(1)]);
  const state = graph.op("Reshape", [parts.state, graph.integers(-1, valueHeads, keySize, valueSize)]);
  const step = ruleStep(graph, state, ruleInputs(graph, config, weights, sums, columns));
  const last = graph.op("Slice", [inputs, graph.integers(1), graph.integers(2 ** 31), graph.integers(1)]);
  const flat = (values: TensorName) => graph.op("Flatten", [values], { axis: 1 });
  return {
    output: gatedOutputs(graph, config, weights, step.output, columns.gate).gated,
    next: graph.op("Concat", [flat(step.state), flat(last)], { axis: 1 }),
  };
}

/** All tokens `h` of one row in sequence; `kept` is [size]. */
export function linearSequence(
  graph: Graph,
  config: ModelConfig,
  weights: LinearWeights,
  { h, kept, count }: { h: TensorName; kept: TensorName; count: TensorName },
): Mixed {
  const { valueHeads, keySize, valueSize, kernel } = linearAttentionOf(config);
  const { mixed } = linearWidths(config);
  const columns = linearColumns(graph, config, weights, h);
  const parts = graph.ops("Split", [kept, partSizes(graph, config)], { axis: 0 }, ["state", "before"]);
  const before = graph.op("Reshape", [parts.before, graph.integers(kernel - 1, mixed)]);
  const inputs = graph.op("Concat", [before, columns.mixed], { axis: 0 });
  const sums = convolved(graph, config, weights.convolution, inputs, 0);
  const all = ruleInputs(graph, config, weights, sums, columns);
  const state = graph.op("Reshape", [parts.state, graph.integers(valueHeads, keySize, valueSize)]);
  const { carried, collected } = graph.loop(count, [state], (index, [own = ""]) => {
    const of = (name: keyof RuleInputs) => graph.op("Gather", [all[name], index], { axis: 0 });
    const token = { query: of("query"), key: of("key"), value: of("value"), decay: of("decay"), rate: of("rate") };
    const step = ruleStep(graph, own, token);
    return { carried: [step.state], collected: [step.output] };
  });
  const last = graph.op("Slice", [inputs, graph.integers(1 - kernel), graph.integers(2 ** 31), graph.integers(0)]);
  const flat = (values: TensorName) => graph.op("Reshape", [values, graph.integers(-1)]);
  return {
    output: gatedOutputs(graph, config, weights, collected[0] ?? "", columns.gate).gated,
    next: graph.op("Concat", [flat(carried[0] ?? ""), flat(last)], { axis: 0 }),
  };
}

function partSizes(graph: Graph, config: ModelConfig): TensorName {
  const { valueHeads, keySize, valueSize } = linearAttentionOf(config);
  const state = valueHeads * keySize * valueSize;
  return graph.integers(state, linearStateSize(config) - state);
}
