import type { ModelConfig } from "../../model/config.js";
import { rotaryFrequencies } from "../graph/rotary.js";

/** Fills rows [headSize / 2] of cosines and sines, plain for keys and times 1 / sqrt(headSize) for queries. */
export interface RotaryRows {
  cos: Float32Array;
  sin: Float32Array;
  queryCos: Float32Array;
  querySin: Float32Array;
  fill(row: number, position: number): void;
}

/**
 * The rotation of `rows` tokens as inputs of a graph: a table of all positions of a long context would be a large constant.
 * Queries carry the scale of attention, since the library multiplies a vector with a matrix fastest when it need not scale.
 */
export function rotaryRows(config: ModelConfig, rows: number): RotaryRows {
  const frequencies = Float64Array.from(rotaryFrequencies(config));
  const half = frequencies.length;
  const scale = 1 / Math.sqrt(config.headSize);
  const [cos, sin] = [new Float32Array(rows * half), new Float32Array(rows * half)];
  const [queryCos, querySin] = [new Float32Array(rows * half), new Float32Array(rows * half)];
  return {
    cos,
    sin,
    queryCos,
    querySin,
    fill(row, position) {
      for (let i = 0; i < half; i++) {
        const angle = position * frequencies[i]!;
        const at = row * half + i;
        const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
        cos[at] = cosine;
        sin[at] = sine;
        queryCos[at] = cosine * scale;
        querySin[at] = sine * scale;
      }
    },
  };
}
