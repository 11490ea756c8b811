import type { ModelConfig } from "../model/config.js";
import { isLinearLayer, linearAttentionOf, linearWidths } from "../model/layer-kinds.js";
import { queryKeyNormWidths } from "../model/parameters.js";
import { copyTransposed } from "./copy-transposed.js";
import type { NormParameter } from "./families.js";
import { families, normNames } from "./families.js";

/** Position of a tensor of a Hugging Face file in the parameters. */
export interface TensorLocation {
  /** Name in the file. */
  tensor: string;
  /** Shape in the file, [outputs, inputs] for a projection. */
  shape: number[];
  /** The parameter that contains it. */
  parameter: string;
  /**
   * Present for a projection, which is stored transposed. Its outputs are the columns from `column` of a parameter with
   * `columns` columns, or those of `runs`.
   */
  projection?: { column: number; columns: number; runs?: RowRun[] };
  /** Present for a vector or a matrix that is a part of the parameter: its first element. */
  offset?: number;
  /** Present for a norm that is stored as its difference from this. */
  plus?: number;
  /** Present where columns of gates and ups, so many of each, are stored in turn; the parameter has those of gates first. */
  pairs?: number;
}

/** Outputs of a file from `row` on that are columns from `column` on: those of a projection that has another order in the file. */
interface RowRun {
  row: number;
  column: number;
  count: number;
}

/** Returns all tensors of a model file in the order in which they are written. */
export function tensorLocations(config: ModelConfig): TensorLocation[] {
  const { vocabularySize, hiddenSize, feedForwardSize, headSize } = config;
  const queries = config.heads * headSize;
  const keys = config.keyValueHeads * headSize;
  const { isFused, normOffset, experts } = families[config.family];
  const isTogether = experts === "together";
  const queryColumns = config.outputGate ? 2 * queries : queries;
  const attention = columnRanges(
    isFused
      ? [["qkv_proj", queryColumns + 2 * keys]]
      : [
          ["q_proj", queryColumns],
          ["k_proj", keys],
          ["v_proj", keys],
        ],
  );
  const gateUp = columnRanges(
    isFused
      ? [["gate_up_proj", 2 * feedForwardSize]]
      : [
          ["gate_proj", feedForwardSize],
          ["up_proj", feedForwardSize],
        ],
  );
  const plus = normOffset && { plus: normOffset };
  const linear = config.linearAttention ? linearWidths(config) : undefined;
  const linearInputs = linear ? linearRanges(config) : [];
  const locations: TensorLocation[] = [
    { tensor: "model.embed_tokens.weight", shape: [vocabularySize, hiddenSize], parameter: "embedding" },
  ];
  for (let layer = 0; layer < config.layers; layer++) {
    const from = `model.layers.${layer}.`;
    const to = `layers.${layer}.`;
    const vector = (tensor: string, size: number, parameter: string, offset?: number) =>
      locations.push({ tensor: `${from}${tensor}`, shape: [size], parameter: `${to}${parameter}`, offset });
    const matrix = (tensor: string, inputs: number, range: ColumnRange, parameter: string, offset = 0) =>
      locations.push({
        tensor: `${from}${tensor}.weight`,
        shape: [range.width, inputs],
        parameter: `${to}${parameter}`,
        projection: { column: range.column, columns: range.columns, ...(range.runs && { runs: range.runs }) },
        ...(offset > 0 && { offset }),
      });
    const normed = (tensor: string, size: number, parameter: string) =>
      locations.push({ tensor: `${from}${tensor}.weight`, shape: [size], parameter: `${to}${parameter}`, ...plus });
    const blockNorm = (parameter: NormParameter) => {
      const name = normNames(config.family)[parameter];
      if (name !== undefined) normed(name, hiddenSize, parameter);
    };
    blockNorm("attention_norm");
    const isLinear = isLinearLayer(config, layer);
    if (isLinear && linear && config.linearAttention) {
      const { kernel, valueSize } = config.linearAttention;
      for (const range of linearInputs) matrix(`linear_attn.${range.name}`, hiddenSize, range, "linear_input");
      locations.push({
        tensor: `${from}linear_attn.conv1d.weight`,
        shape: [linear.mixed, 1, kernel],
        parameter: `${to}convolution`,
        projection: { column: 0, columns: linear.mixed },
      });
      vector("linear_attn.A_log", linear.heads, "log_decay");
      vector("linear_attn.dt_bias", linear.heads, "step_bias");
      vector("linear_attn.norm.weight", valueSize, "linear_norm");
      matrix("linear_attn.out_proj", linear.values, allColumns(hiddenSize), "linear_output");
    }
    for (const range of isLinear ? [] : attention) matrix(`self_attn.${range.name}`, hiddenSize, range, "qkv");
    if (!isLinear && config.attentionBias) {
      for (const { name, width, column } of attention) vector(`self_attn.${name}.bias`, width, "qkv_bias", column);
    }
    if (!isLinear && config.queryKeyNorm) {
      const [query, key] = queryKeyNormWidths(config);
      normed("self_attn.q_norm", query, "query_norm");
      normed("self_attn.k_norm", key, "key_norm");
    }
    if (!isLinear && config.attentionSinks) vector("self_attn.sinks", config.heads, "sinks");
    if (!isLinear) matrix("self_attn.o_proj", queries, allColumns(hiddenSize), "attention_output");
    if (!isLinear && config.outputBias) vector("self_attn.o_proj.bias", hiddenSize, "attention_output_bias");
    blockNorm("attention_after_norm");
    blockNorm("feed_forward_norm");
    if (isTogether && config.experts) {
      const { count } = config.experts;
      const whole = (tensor: string, shape: number[], parameter: string, pairs?: number) =>
        locations.push({
          tensor: `${from}mlp.${tensor}`,
          shape,
          parameter: `${to}${parameter}`,
          ...(pairs && { pairs }),
        });
      matrix("mlp.router", hiddenSize, allColumns(count), "router");
      whole("router.bias", [count], "router_bias");
      whole("experts.gate_up_proj", [count, hiddenSize, 2 * feedForwardSize], "gate_up", feedForwardSize);
      whole("experts.gate_up_proj_bias", [count, 2 * feedForwardSize], "gate_up_bias", feedForwardSize);
      whole("experts.down_proj", [count, feedForwardSize, hiddenSize], "down");
      whole("experts.down_proj_bias", [count, hiddenSize], "down_bias");
    } else if (config.experts) matrix("mlp.gate", hiddenSize, allColumns(config.experts.count), "router");
    const blocks = isTogether ? 0 : (config.experts?.count ?? 1);
    for (let expert = 0; expert < blocks; expert++) {
      const block = config.experts ? `mlp.experts.${expert}` : "mlp";
      const at = expert * hiddenSize * feedForwardSize;
      for (const range of gateUp) matrix(`${block}.${range.name}`, hiddenSize, range, "gate_up", 2 * at);
      matrix(`${block}.down_proj`, feedForwardSize, allColumns(hiddenSize), "down", at);
    }
    const sharedWidth = config.experts?.sharedWidth;
    if (sharedWidth !== undefined) {
      const shared = columnRanges([
        ["gate_proj", sharedWidth],
        ["up_proj", sharedWidth],
      ]);
      for (const range of shared) matrix(`mlp.shared_expert.${range.name}`, hiddenSize, range, "shared_gate_up");
      matrix("mlp.shared_expert.down_proj", sharedWidth, allColumns(hiddenSize), "shared_down");
      matrix("mlp.shared_expert_gate", hiddenSize, allColumns(1), "shared_weight");
    }
    if (config.feedForwardBias) {
      for (const { name, width, column } of gateUp) vector(`mlp.${name}.bias`, width, "gate_up_bias", column);
      vector("mlp.down_proj.bias", hiddenSize, "down_bias");
    }
    blockNorm("feed_forward_after_norm");
  }
  locations.push({ tensor: "model.norm.weight", shape: [hiddenSize], parameter: "final_norm", ...plus });
  if (!config.tiedEmbeddings) {
    locations.push({ tensor: "lm_head.weight", shape: [vocabularySize, hiddenSize], parameter: "head" });
  }
  return locations;
}

/** Copies a tensor of a file, [outputs, inputs], into its parameter. */
export function storeTensor(location: TensorLocation, values: Float32Array, parameter: Float32Array): void {
  const { projection, offset = 0, plus, pairs, shape } = location;
  if (pairs !== undefined) return eachPair(values.length, pairs, (stored, at) => (parameter[at] = values[stored]!));
  if (plus !== undefined) return parameter.set(values.map((value) => value + plus));
  if (!projection) return parameter.set(values, offset);
  const [outputs, inputs] = matrixOf(shape);
  for (const { row, column, count } of runsOf(projection, outputs)) {
    copyTransposed(values, { rows: count, columns: inputs, stride: inputs, offset: row * inputs }, parameter, {
      stride: projection.columns,
      offset: offset + column,
    });
  }
}

/** Reverses `storeTensor`. Returns a view if the file has the same order and numbers, else a new array. */
export function tensorValues(location: TensorLocation, parameter: Float32Array): Float32Array {
  const { projection, offset = 0, plus, pairs, shape } = location;
  if (plus !== undefined) return parameter.map((value) => value - plus);
  const size = shape.reduce((product, length) => product * length, 1);
  if (pairs !== undefined) {
    const stored = new Float32Array(size);
    eachPair(size, pairs, (into, at) => (stored[into] = parameter[at]!));
    return stored;
  }
  if (!projection) return parameter.subarray(offset, offset + size);
  const [outputs, inputs] = matrixOf(shape);
  const values = new Float32Array(size);
  for (const { row, column, count } of runsOf(projection, outputs)) {
    const from = { rows: inputs, columns: count, stride: projection.columns, offset: offset + column };
    copyTransposed(parameter, from, values, { stride: inputs, offset: row * inputs });
  }
  return values;
}

function runsOf({ column, runs }: NonNullable<TensorLocation["projection"]>, outputs: number): RowRun[] {
  return runs ?? [{ row: 0, column, count: outputs }];
}

/** A convolution has a length of one between its own. */
function matrixOf(shape: readonly number[]): [outputs: number, inputs: number] {
  return [shape[0] ?? 0, shape.at(-1) ?? 0];
}

/** Calls with the index of each number where gates and ups are in turn, and where all `count` gates of a row come first. */
function eachPair(size: number, count: number, visit: (stored: number, at: number) => void): void {
  for (let row = 0; row < size; row += 2 * count) {
    for (let column = 0; column < count; column++) {
      visit(row + 2 * column, row + column);
      visit(row + 2 * column + 1, row + count + column);
    }
  }
}

interface ColumnRange {
  name: string;
  width: number;
  column: number;
  columns: number;
  runs?: RowRun[];
}

/** The columns of linear attention. By head: its query, its key, then the values and the gates of the heads of values that it serves. */
function linearRanges(config: ModelConfig): ColumnRange[] {
  const { mixed, values, keys, heads } = linearWidths(config);
  const { keyHeads } = linearAttentionOf(config);
  if (!families[config.family].isLinearByHead) {
    return columnRanges([
      ["in_proj_qkv", mixed],
      ["in_proj_z", values],
      ["in_proj_b", heads],
      ["in_proj_a", heads],
    ]);
  }
  const byHead = (name: string, parts: [column: number, width: number][]): ColumnRange => {
    const width = parts.reduce((sum, [, each]) => sum + each, 0);
    let row = 0;
    const runs = Array.from({ length: keyHeads }, (_, head) =>
      parts.map(([column, all]): RowRun => {
        const count = all / keyHeads;
        row += count;
        return { row: row - count, column: column + head * count, count };
      }),
    );
    return { name, width, column: 0, columns: mixed + values + 2 * heads, runs: runs.flat() };
  };
  const vectors: [number, number][] = [
    [0, keys],
    [keys, keys],
    [2 * keys, values],
    [mixed, values],
  ];
  const numbers: [number, number][] = [
    [mixed + values, heads],
    [mixed + values + heads, heads],
  ];
  return [byHead("in_proj_qkvz", vectors), byHead("in_proj_ba", numbers)];
}

function columnRanges(widths: [string, number][]): ColumnRange[] {
  const columns = widths.reduce((sum, [, width]) => sum + width, 0);
  let column = 0;
  return widths.map(([name, width]) => {
    const range = { name, width, column, columns };
    column += width;
    return range;
  });
}

function allColumns(columns: number): ColumnRange {
  return { name: "", width: columns, column: 0, columns };
}
