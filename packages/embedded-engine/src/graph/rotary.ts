import type { ModelConfig, RotaryScaling } from "../model/config.js";

/** Cosines and sines [positions, headSize / 2] that rotate the pairs (i, i + headSize / 2) of a head. */
export interface RotaryTables {
  cosines: Float32Array;
  sines: Float32Array;
}

export function rotaryTables(config: ModelConfig, positions: number): RotaryTables {
  const frequencies = rotaryFrequencies(config);
  const half = frequencies.length;
  const factor = rotaryFactor(config);
  const cosines = new Float32Array(positions * half);
  const sines = new Float32Array(positions * half);
  for (let position = 0; position < positions; position++) {
    frequencies.forEach((frequency, i) => {
      cosines[position * half + i] = factor * Math.cos(position * frequency);
      sines[position * half + i] = factor * Math.sin(position * frequency);
    });
  }
  return { cosines, sines };
}

/**
 * Returns the radians per position of each pair: `base ^ (-2i / headSize)`, scaled as the model configures. The Llama 3
 * rule divides frequencies with wavelengths long relative to the original context, keeps short ones, and interpolates
 * between. So does YaRN, which interpolates by the index of the pair.
 */
export function rotaryFrequencies({ headSize, rotaryBase, rotaryScaling }: ModelConfig): number[] {
  const unscaled = Array.from({ length: headSize / 2 }, (_, i) => rotaryBase ** ((-2 * i) / headSize));
  if (!rotaryScaling) return unscaled;
  if (rotaryScaling.type === "linear") return unscaled.map((frequency) => frequency / rotaryScaling.factor);
  if (rotaryScaling.type === "yarn") return yarnFrequencies(unscaled, headSize, rotaryBase, rotaryScaling);
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalContextLength } = rotaryScaling;
  return unscaled.map((frequency) => {
    const waves = (originalContextLength * frequency) / (2 * Math.PI);
    if (waves < lowFrequencyFactor) return frequency / factor;
    if (waves > highFrequencyFactor) return frequency;
    const smooth = (waves - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
    return (1 - smooth) * (frequency / factor) + smooth * frequency;
  });
}

/** Returns the factor of the cosines and sines. */
export function rotaryFactor({ rotaryScaling }: ModelConfig): number {
  return rotaryScaling?.type === "yarn" ? rotaryScaling.attentionFactor : 1;
}

function yarnFrequencies(
  unscaled: number[],
  headSize: number,
  base: number,
  { factor, originalContextLength, betaFast, betaSlow, truncate }: Extract<RotaryScaling, { type: "yarn" }>,
): number[] {
  /** Index of the pair that rotates so many times within the original context. */
  const pairOf = (rotations: number) =>
    (headSize * Math.log(originalContextLength / (rotations * 2 * Math.PI))) / (2 * Math.log(base));
  const [fast, slow] = [pairOf(betaFast), pairOf(betaSlow)];
  const low = Math.max(truncate ? Math.floor(fast) : fast, 0);
  const high = Math.min(truncate ? Math.ceil(slow) : slow, headSize - 1);
  const width = high === low ? 0.001 : high - low;
  return unscaled.map((frequency, pair) => {
    const divided = Math.min(1, Math.max(0, (pair - low) / width));
    return frequency * (1 - divided) + (frequency / factor) * divided;
  });
}
