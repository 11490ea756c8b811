import type { LayerKind, ModelConfig } from "../model/config.js";
import { rotatesWholeHeads, scoreScale } from "../model/layer-kinds.js";
import { rotation } from "../graph/rotary.js";

/** Rows [width / 2] of cosines and sines: unscaled for keys, times the scale of the scores for queries. */
export interface RotaryRows {
  cos: Float32Array;
  sin: Float32Array;
  queryCos: Float32Array;
  querySin: Float32Array;
  fill(row: number, position: number): void;
}

/**
 * Creates the rotary embedding of `rows` tokens as graph inputs: a table for all positions of a long context would be a
 * large constant. The attention scale is applied to queries, because the library multiplies a vector and a matrix
 * fastest without a scale.
 */
export function rotaryRows(config: ModelConfig, rows: number, kind: LayerKind): RotaryRows {
  const { frequencies: all, factor } = rotation(config, kind);
  const frequencies = Float64Array.from(all);
  const half = frequencies.length;
  // A part of a head that is not rotated is scaled by the graph, and the whole with it.
  const scale = rotatesWholeHeads(config) ? scoreScale(config) : 1;
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
        const [cosine, sine] = [factor * Math.cos(angle), factor * Math.sin(angle)];
        cos[at] = cosine;
        sin[at] = sine;
        queryCos[at] = cosine * scale;
        querySin[at] = sine * scale;
      }
    },
  };
}
