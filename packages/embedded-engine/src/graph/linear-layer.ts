import type { ModelConfig } from "../model/config.js";
import { linearAttentionOf, linearWidths } from "../model/layer-kinds.js";
import { siluWithSlope } from "./activation.js";
import type { AttentionValues } from "./attention.js";
import { addedGradient, addToStream, readAgain, readGradient, readsNormed, readStream } from "./block-norm.js";
import type { LayerContext } from "./layer-context.js";
import type { LinearWeights, RuleInputs } from "./linear-attention.js";
import {
  convolved,
  convolvedBackward,
  gatedOutputs,
  linearColumns,
  logDecay,
  namedLinearWeights,
  ruleInputs,
  ruleStep,
  unitHeads,
} from "./linear-attention.js";
import { rmsNormBackward } from "./norm.js";
import type { Dimension, Graph, TensorName } from "./onnx.js";
import {
  add,
  batchedMatMul,
  joinColumns,
  matMul,
  matMulTransposed,
  multiply,
  reshape,
  splitColumns,
  subtract,
  sumOver,
} from "./operators.js";

// Layers of linear attention in training. The rule is computed token by token. The backward pass computes everything again: it keeps
// the states at the beginnings of blocks, and within one block those of all its tokens. The weights of linear attention are frozen.

/** Tokens of a block; lengths of batches are multiples of it. */
const blockLength = 16;

/** Values of the forward pass that the backward pass needs. */
export type LinearValues = Pick<AttentionValues, "attentionScale" | "middle">;

const ruleNames = ["query", "key", "value", "decay", "rate"] as const satisfies readonly (keyof RuleInputs)[];

export function linearForward(context: LayerContext, x: TensorName): LinearValues {
  const { y, scale } = readStream(context, "attention", x);
  const { gated } = compute(context, y);
  const middle = addToStream(context, "attention", x, matMul(context.graph, gated, "linear_output"));
  return { ...(scale && { attentionScale: scale }), middle };
}

export function linearDimensions(config: ModelConfig): Record<string, Dimension[]> {
  return {
    ...(readsNormed(config) && { attentionScale: ["tokens", 1] }),
    middle: ["tokens", config.hiddenSize],
  };
}

/** Returns the gradient of the layer's input, given that of `middle`. */
export function linearBackward(
  context: LayerContext,
  x: TensorName,
  { attentionScale: scale }: LinearValues,
  dmiddle: TensorName,
): TensorName {
  const { graph, config } = context;
  const { weights, columns, sums, inputs, starts, outputs, gated, normed, outputScale } = compute(
    context,
    readAgain(context, "attention", x, scale),
  );
  const doutput = addedGradient(context, "attention", dmiddle, () => matMul(graph, gated, "linear_output"));
  const dgated = matMulTransposed(graph, doutput, "linear_output");
  const gate = siluWithSlope(graph, columns.gate, 1);
  const dgate = multiply(graph, multiply(graph, dgated, normed), gate.slope);
  const { valueHeads, valueSize } = linearAttentionOf(config);
  const dnormed = reshape(graph, multiply(graph, dgated, gate.active), graph.integers(-1, valueHeads, 1, valueSize));
  const { dx: doutputs } = rmsNormBackward(graph, {
    x: outputs,
    scale: outputScale,
    gain: weights.norm,
    dy: dnormed,
    rank: 4,
  });
  const shape = shapeOf(graph, config);
  const drule = scanBackward(graph, shape, byTime(graph, shape, inputs), starts, toTime(graph, shape, doutputs));
  const d = Object.fromEntries(ruleNames.map((name) => [name, toTokens(graph, shape, drule[name])])) as RuleInputs;
  const dmixed = mixedGradient(context, weights, shape, sums, d);
  const heads = graph.integers(-1, valueHeads);
  const rate = reshape(graph, inputs.rate, heads);
  const rateSlope = multiply(graph, rate, subtract(graph, graph.scalar(1), rate));
  const drate = multiply(graph, reshape(graph, d.rate, heads), rateSlope);
  const { speed, biased } = logDecay(graph, weights, columns.step);
  const ddecay = reshape(graph, multiply(graph, d.decay, inputs.decay), heads);
  const dstep = multiply(graph, multiply(graph, ddecay, speed), graph.op("Sigmoid", [biased]));
  const dread = matMulTransposed(graph, joinColumns(graph, [dmixed, dgate, drate, dstep]), weights.input);
  return readGradient(context, "attention", { x, scale, dstream: dmiddle, dread });
}

/** Lengths of a batch, as int64 vectors of one number, and its number of blocks. */
interface BatchShape {
  batch: TensorName;
  time: TensorName;
  blocks: TensorName;
  /** Zeros in the place of a state before the first token. */
  noState: TensorName;
}

function shapeOf(graph: Graph, config: ModelConfig): BatchShape {
  const { valueHeads, keySize, valueSize } = linearAttentionOf(config);
  const part = (at: number) => graph.op("Slice", ["query_shape", graph.integers(at), graph.integers(at + 1)]);
  const [batch, time] = [part(0), part(1)];
  const blocks = graph.op("Div", [
    reshape(graph, time, graph.constant(new BigInt64Array(), [0], "int64")),
    scalar(graph, blockLength),
  ]);
  const stateShape = graph.op("Concat", [batch, graph.integers(valueHeads, keySize, valueSize)], { axis: 0 });
  return { batch, time, blocks, noState: graph.op("ConstantOfShape", [stateShape]) };
}

function compute(context: LayerContext, y: TensorName) {
  const { graph, config } = context;
  const weights = namedLinearWeights((name) => name);
  const { kernel } = linearAttentionOf(config);
  const { mixed } = linearWidths(config);
  const shape = shapeOf(graph, config);
  const columns = linearColumns(graph, config, weights, y);
  const padded = graph.op("Pad", [
    inTime(graph, shape, columns.mixed, mixed),
    graph.integers(0, kernel - 1, 0, 0, 0, 0),
  ]);
  const sums = reshape(graph, convolved(graph, config, weights.convolution, padded, 1), graph.integers(-1, mixed));
  const inputs = ruleInputs(graph, config, weights, sums, columns);
  const scanned = scan(graph, shape, byTime(graph, shape, inputs));
  const outputs = toTokens(graph, shape, scanned.outputs);
  const { gated, normed, scale } = gatedOutputs(graph, config, weights, outputs, columns.gate);
  return { weights, columns, sums, inputs, starts: scanned.starts, outputs, gated, normed, outputScale: scale };
}

/** Gradient of the columns before the convolution, given those of what the rule reads of each token. */
function mixedGradient(
  { graph, config }: LayerContext,
  { convolution }: LinearWeights,
  shape: BatchShape,
  sums: TensorName,
  d: RuleInputs,
): TensorName {
  const { keyHeads, valueHeads, keySize, kernel } = linearAttentionOf(config);
  const { keys, values, mixed } = linearWidths(config);
  const { active, slope } = siluWithSlope(graph, sums, 1);
  const { query, key } = splitColumns(graph, active, { query: keys, key: keys, value: values });
  /** With y = f x and f = 1 / |x|: dx = f (dy - y sum(dy y)). */
  const dheads = (columns: TensorName, dunit: TensorName) => {
    const apart = reshape(graph, dunit, graph.integers(-1, keyHeads, valueHeads / keyHeads, keySize));
    const dy = sumOver(graph, apart, [2]);
    const { unit, factor } = unitHeads(graph, config, columns);
    const along = sumOver(graph, multiply(graph, dy, unit), [2], { keep: true });
    const dx = multiply(graph, subtract(graph, dy, multiply(graph, unit, along)), factor);
    return reshape(graph, dx, graph.integers(-1, keys));
  };
  const scaled = multiply(graph, d.query, graph.scalar(keySize ** -0.5));
  const dvalue = reshape(graph, d.value, graph.integers(-1, values));
  const dactive = joinColumns(graph, [dheads(query, scaled), dheads(key, d.key), dvalue]);
  const dsums = inTime(graph, shape, multiply(graph, dactive, slope), mixed);
  const padded = graph.op("Pad", [dsums, graph.integers(0, 0, 0, 0, kernel - 1, 0)]);
  return reshape(graph, convolvedBackward(graph, config, convolution, padded, 1), graph.integers(-1, mixed));
}

function scalar(graph: Graph, value: number): TensorName {
  return graph.constant(BigInt64Array.of(BigInt(value)), [], "int64");
}

/** [tokens, width] as [batch, time, width] */
function inTime(graph: Graph, { batch, time }: BatchShape, columns: TensorName, width: number): TensorName {
  return reshape(graph, columns, graph.op("Concat", [batch, time, graph.integers(width)], { axis: 0 }));
}

/** [tokens, heads, ..] as [time, batch, heads, ..] */
function toTime(graph: Graph, { batch, time }: BatchShape, values: TensorName): TensorName {
  const rest = graph.op("Shape", [values], { start: 1 });
  const apart = reshape(graph, values, graph.op("Concat", [batch, time, rest], { axis: 0 }));
  return graph.op("Transpose", [apart], { perm: [1, 0, 2, 3, 4] });
}

/** Reverses `toTime`, also of values that blocks have: [blocks, block, batch, heads, ..]. */
function toTokens(graph: Graph, { batch, time }: BatchShape, values: TensorName): TensorName {
  const rest = graph.op("Shape", [values], { start: -3 });
  const apart = reshape(graph, values, graph.op("Concat", [time, batch, rest], { axis: 0 }));
  const swapped = graph.op("Transpose", [apart], { perm: [1, 0, 2, 3, 4] });
  return reshape(graph, swapped, graph.op("Concat", [graph.integers(-1), rest], { axis: 0 }));
}

function byTime(graph: Graph, shape: BatchShape, inputs: RuleInputs): RuleInputs {
  return Object.fromEntries(ruleNames.map((name) => [name, toTime(graph, shape, inputs[name])])) as RuleInputs;
}

function tokenOf(graph: Graph, inputs: RuleInputs, at: TensorName): RuleInputs {
  const own = (name: keyof RuleInputs) => graph.op("Gather", [inputs[name], at], { axis: 0 });
  return Object.fromEntries(ruleNames.map((name) => [name, own(name)])) as RuleInputs;
}

/** Returns the outputs of all tokens by block, and the state before each block. */
function scan(graph: Graph, { blocks, noState }: BatchShape, inputs: RuleInputs) {
  const { collected } = graph.loop(blocks, [noState], (block, [state = ""]) => {
    const first = graph.op("Mul", [block, scalar(graph, blockLength)]);
    const inner = graph.loop(scalar(graph, blockLength), [state], (index, [before = ""]) => {
      const own = tokenOf(graph, inputs, graph.op("Add", [first, index]));
      const step = ruleStep(graph, before, own);
      return { carried: [step.state], collected: [step.output] };
    });
    return { carried: inner.carried, collected: [inner.collected[0] ?? "", state] };
  });
  return { outputs: collected[0] ?? "", starts: collected[1] ?? "" };
}

/** Returns the gradients of what the rule reads of each token, by block, given those of its outputs by time. */
function scanBackward(
  graph: Graph,
  { blocks, noState, time }: BatchShape,
  inputs: RuleInputs,
  starts: TensorName,
  doutputs: TensorName,
): RuleInputs {
  const lastBlock = graph.op("Sub", [blocks, scalar(graph, 1)]);
  const { collected } = graph.loop(blocks, [noState], (iteration, [dafter = ""]) => {
    const block = graph.op("Sub", [lastBlock, iteration]);
    const first = graph.op("Mul", [block, scalar(graph, blockLength)]);
    const start = graph.op("Gather", [starts, block], { axis: 0 });
    const forward = graph.loop(scalar(graph, blockLength), [start], (index, [before = ""]) => {
      const own = tokenOf(graph, inputs, graph.op("Add", [first, index]));
      return { carried: [ruleStep(graph, before, own).state], collected: [before] };
    });
    const states = forward.collected[0] ?? "";
    return graph.loop(scalar(graph, blockLength), [dafter], (index, [dstate = ""]) => {
      const inBlock = graph.op("Sub", [scalar(graph, blockLength - 1), index]);
      const at = graph.op("Add", [first, inBlock]);
      const before = graph.op("Gather", [states, inBlock], { axis: 0 });
      const doutput = graph.op("Gather", [doutputs, at], { axis: 0 });
      const d = stepBackward(graph, before, tokenOf(graph, inputs, at), { dstate, doutput });
      return { carried: [d.state], collected: ruleNames.map((name) => d.inputs[name]) };
    });
  });
  // Tokens were visited from the last to the first.
  const inOrder = (values: TensorName) => {
    const rest = graph.op("Shape", [values], { start: 2 });
    const flat = reshape(graph, values, graph.op("Concat", [time, rest], { axis: 0 }));
    const [end, back] = [graph.integers(-(2 ** 31)), graph.integers(-1)];
    return graph.op("Slice", [flat, graph.integers(-1), end, graph.integers(0), back]);
  };
  return Object.fromEntries(ruleNames.map((name, at) => [name, inOrder(collected[at] ?? "")])) as RuleInputs;
}

/** Gradients of one token of the rule, by those of the state after it and of its output. */
function stepBackward(
  graph: Graph,
  before: TensorName,
  inputs: RuleInputs,
  { dstate, doutput }: { dstate: TensorName; doutput: TensorName },
): { state: TensorName; inputs: RuleInputs } {
  const { query, key, decay, rate } = inputs;
  const { decayed, error, change, state } = ruleStep(graph, before, inputs);
  const total = (values: TensorName, axes: number[]) => sumOver(graph, values, axes, { keep: true });
  const dafter = add(graph, dstate, batchedMatMul(graph, query, doutput, { transposeA: true }));
  const dchange = matMul(graph, key, dafter);
  const dvalue = multiply(graph, dchange, rate);
  const drecalled = graph.op("Neg", [dvalue]);
  const ddecayed = add(graph, dafter, batchedMatMul(graph, key, drecalled, { transposeA: true }));
  const dkey = add(
    graph,
    batchedMatMul(graph, change, dafter, { transposeB: true }),
    batchedMatMul(graph, drecalled, decayed, { transposeB: true }),
  );
  return {
    state: multiply(graph, ddecayed, decay),
    inputs: {
      query: batchedMatMul(graph, doutput, state, { transposeB: true }),
      key: dkey,
      value: dvalue,
      decay: total(multiply(graph, before, ddecayed), [2, 3]),
      rate: total(multiply(graph, dchange, error), [3]),
    },
  };
}
