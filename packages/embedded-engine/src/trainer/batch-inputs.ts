import type { ModelConfig } from "../model/config.js";
import { rotaryTables } from "../graph/rotary.js";
import type { Tensor } from "../session.js";
import { tensor } from "../session.js";

/** Inputs of a layer that depend only on the shape of the batch. */
export type BatchInputs = Record<string, Tensor>;

/**
 * Returns a function that creates the inputs. It caches the rotary tables and the last mask. Requires onnxruntime-node
 * to be loaded.
 */
export function batchInputs(config: ModelConfig): (rows: number, time: number) => BatchInputs {
  const { heads, keyValueHeads, headSize } = config;
  const half = headSize / 2;
  let positions = 0;
  let tables = rotaryTables(config, 0);
  let negativeSines = new Float32Array(0);
  let mask = tensor("float32", new Float32Array(0), [0, 0]);
  return (rows, time) => {
    if (time > positions) {
      positions = Math.min(config.contextLength, Math.max(time, 2 * positions));
      tables = rotaryTables(config, positions);
      negativeSines = tables.sines.map((value) => -value);
    }
    if (mask.dims[0] !== time) mask = causalMask(time);
    const window = (table: Float32Array) => tensor("float32", table.subarray(0, time * half), [time, half]);
    return {
      cosines: window(tables.cosines),
      sines: window(tables.sines),
      negative_sines: window(negativeSines),
      mask,
      query_shape: shape(rows, time, heads, headSize),
      key_shape: shape(rows, time, keyValueHeads, headSize),
      score_shape: shape(rows, heads, time, time),
      group_shape: shape(rows, keyValueHeads, (heads / keyValueHeads) * time, time),
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
