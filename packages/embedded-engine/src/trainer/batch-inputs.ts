import { maxBlockLength } from "../model/attention-blocks.js";
import type { ModelConfig } from "../model/config.js";
import { rotaryTables } from "../graph/rotary.js";
import type { Tensor } from "../session.js";
import { tensor } from "../session.js";

/** Inputs of a layer that depend only on the shape of the batch. */
export type BatchInputs = Record<string, Tensor>;

/**
 * Returns a function that creates the inputs. It caches the rotary tables and the last mask. With `blockwise`, `time` is
 * one that `blockwiseLength` returns. Requires onnxruntime-node to be loaded.
 */
export function batchInputs(
  config: ModelConfig,
): (rows: number, time: number, options: { blockwise: boolean }) => BatchInputs {
  const { heads, keyValueHeads, headSize } = config;
  const half = headSize / 2;
  let positions = 0;
  let tables = rotaryTables(config, 0);
  let negativeSines = new Float32Array(0);
  let mask = tensor("float32", new Float32Array(0), [0, 0]);
  return (rows, time, { blockwise }) => {
    if (time > positions) {
      positions = Math.max(time, Math.min(config.contextLength, 2 * positions));
      tables = rotaryTables(config, positions);
      negativeSines = tables.sines.map((value) => -value);
    }
    const block = blockwise ? Math.min(time, maxBlockLength) : time;
    if (mask.dims[0] !== block) mask = causalMask(block);
    const window = (table: Float32Array) => tensor("float32", table.subarray(0, time * half), [time, half]);
    return {
      cosines: window(tables.cosines),
      sines: window(tables.sines),
      negative_sines: window(negativeSines),
      mask,
      query_shape: shape(rows, time, heads, headSize),
      key_shape: shape(rows, time, keyValueHeads, headSize),
      score_shape: shape(rows, heads, block, -1),
      group_shape: shape(rows, keyValueHeads, (heads / keyValueHeads) * block, -1),
      ...(blockwise && {
        blocks: tensor("int64", BigInt64Array.of(BigInt(time / block)), []),
        block_length: shape(block),
      }),
    };
  };
}

function causalMask(time: number): Tensor<"float32"> {
  const mask = new Float32Array(time * time);
  for (let row = 0; row < time; row++) mask.fill(-1e9, row * time + row + 1, (row + 1) * time);
  return tensor("float32", mask, [time, time]);
}

function shape(...lengths: number[]): Tensor<"int64"> {
  return tensor("int64", BigInt64Array.from(lengths, BigInt), [lengths.length]);
}
