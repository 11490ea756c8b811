import type { LayerKind, ModelConfig } from "../model/config.js";
import { rotatesWholeHeads, scoreScale } from "../model/layer-kinds.js";
import { ofTexts } from "../model/long-texts.js";
import { rotation } from "../graph/rotary.js";

/** Rows [width / 2] of cosines and sines: unscaled for keys, times the scale of the scores for queries. */
export interface RotaryRows {
  cos: Float32Array;
  sin: Float32Array;
  queryCos: Float32Array;
  querySin: Float32Array;
  /** Sets a row to a position in a text that is a long one, or not; see `isLongText`. */
  fill(row: number, position: number, isLong: boolean): void;
}

/**
 * Creates the rotary embedding of `rows` tokens as graph inputs: a table for all positions of a long context would be a
 * large constant. The attention scale is applied to queries, because the library multiplies a vector and a matrix
 * fastest without a scale.
 */
export function rotaryRows(config: ModelConfig, rows: number, kind: LayerKind): RotaryRows {
  const rotationOf = (areLong: boolean) => {
    const { frequencies, factor } = rotation(ofTexts(config, { areLong }), kind);
    return { frequencies: Float64Array.from(frequencies), factor };
  };
  const [ofShort, ofLong] = [rotationOf(false), rotationOf(true)];
  const half = ofShort.frequencies.length;
  // A part of a head that is not rotated is scaled by the graph, and the whole with it.
  const scale = rotatesWholeHeads(config) ? scoreScale(config) : 1;
  const [cos, sin] = [new Float32Array(rows * half), new Float32Array(rows * half)];
  const [queryCos, querySin] = [new Float32Array(rows * half), new Float32Array(rows * half)];
  return {
    cos,
    sin,
    queryCos,
    querySin,
    fill(row, position, isLong) {
      const { frequencies, factor } = isLong ? ofLong : ofShort;
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
