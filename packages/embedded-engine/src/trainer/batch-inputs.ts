import { maxBlockLength } from "../model/attention-blocks.js";
import type { LayerKind, ModelConfig } from "../model/config.js";
import { firstVisible, layerKindsOf, rotaryWidth } from "../model/layer-kinds.js";
import { ofTexts } from "../model/long-texts.js";
import { rotaryTables } from "../graph/rotary.js";
import type { Tensor } from "../session.js";
import { tensor } from "../session.js";

/** Shape of a padded batch. */
export interface BatchShape {
  rows: number;
  time: number;
  /** Whether the rows are long texts; see `isLongText`. Default: false. */
  areLong?: boolean;
}

/** Inputs of each layer that depend only on the shape of the batch. */
export type BatchInputs = Record<string, Tensor>[];

/**
 * Returns a function that creates the inputs. It caches the rotary tables and the last masks. With `blockwise`, `time` is
 * one that `blockwiseLength` returns. Requires onnxruntime-node to be loaded.
 */
export function batchInputs(config: ModelConfig): (batch: BatchShape, options: { blockwise: boolean }) => BatchInputs {
  const { heads, keyValueHeads, headSize } = config;
  const { kinds, ofLayer } = layerKindsOf(config);
  const inputsOf = (areLong: boolean) => kinds.map((kind) => kindInputs(ofTexts(config, { areLong }), kind));
  const [ofShort, ofLong] = [inputsOf(false), inputsOf(true)];
  return ({ rows, time, areLong = false }, { blockwise }) => {
    const block = blockwise ? Math.min(time, maxBlockLength) : time;
    const shapes = {
      query_shape: shape(rows, time, heads, headSize),
      key_shape: shape(rows, time, keyValueHeads, headSize),
      score_shape: shape(rows, heads, block, -1),
      group_shape: shape(rows, keyValueHeads, (heads / keyValueHeads) * block, -1),
      ...(blockwise && {
        blocks: tensor("int64", BigInt64Array.of(BigInt(time / block)), []),
        block_length: shape(block),
      }),
    };
    const byKind = (areLong ? ofLong : ofShort).map((inputs) => ({ ...shapes, ...inputs(time, block) }));
    return ofLayer.map((kind) => byKind[kind]!);
  };
}

/** Returns a function that creates the rotary tables and the mask of a kind of layer. */
function kindInputs(config: ModelConfig, kind: LayerKind): (time: number, block: number) => Record<string, Tensor> {
  const half = rotaryWidth(config) / 2;
  let positions = 0;
  let tables = rotaryTables(config, 0, kind);
  let negativeSines = new Float32Array(0);
  let mask = tensor("float32", new Float32Array(0), [0, 0]);
  return (time, block) => {
    if (time > positions) {
      positions = Math.max(time, Math.min(config.contextLength, 2 * positions));
      tables = rotaryTables(config, positions, kind);
      negativeSines = tables.sines.map((value) => -value);
    }
    if (mask.dims[0] !== block || mask.dims[1] !== time) mask = attentionMask(kind, block, time);
    const upTo = (table: Float32Array) => tensor("float32", table.subarray(0, time * half), [time, half]);
    return {
      cosines: upTo(tables.cosines),
      sines: upTo(tables.sines),
      negative_sines: upTo(negativeSines),
      mask,
    };
  };
}

/** The mask of the last `block` queries: 0 where they attend. */
function attentionMask(kind: LayerKind, block: number, time: number): Tensor<"float32"> {
  const mask = new Float32Array(block * time).fill(-1e9);
  for (let row = 0; row < block; row++) {
    const position = time - block + row;
    mask.fill(0, row * time + firstVisible(kind, position), row * time + position + 1);
  }
  return tensor("float32", mask, [block, time]);
}

function shape(...lengths: number[]): Tensor<"int64"> {
  return tensor("int64", BigInt64Array.from(lengths, BigInt), [lengths.length]);
}
