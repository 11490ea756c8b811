import type { ModelConfig } from "../model/config.js";

/** Cosines and sines [positions, headSize / 2] that rotate the pairs (i, i + headSize / 2) of a head. */
export interface RotaryTables {
  cosines: Float32Array;
  sines: Float32Array;
}

export function rotaryTables(config: ModelConfig, positions: number): RotaryTables {
  const frequencies = rotaryFrequencies(config);
  const half = frequencies.length;
  const cosines = new Float32Array(positions * half);
  const sines = new Float32Array(positions * half);
  for (let position = 0; position < positions; position++) {
    frequencies.forEach((frequency, i) => {
      cosines[position * half + i] = Math.cos(position * frequency);
      sines[position * half + i] = Math.sin(position * frequency);
    });
  }
  return { cosines, sines };
}

/**
 * Returns the radians per position of each pair: `base ^ (-2i / headSize)`, scaled as the model configures. The Llama 3
 * rule divides frequencies with wavelengths long relative to the original context, keeps short ones, and interpolates
 * between.
 */
export function rotaryFrequencies({ headSize, rotaryBase, rotaryScaling }: ModelConfig): number[] {
  const unscaled = Array.from({ length: headSize / 2 }, (_, i) => rotaryBase ** ((-2 * i) / headSize));
  if (!rotaryScaling) return unscaled;
  if (rotaryScaling.type === "linear") return unscaled.map((frequency) => frequency / rotaryScaling.factor);
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalContextLength } = rotaryScaling;
  return unscaled.map((frequency) => {
    const waves = (originalContextLength * frequency) / (2 * Math.PI);
    if (waves < lowFrequencyFactor) return frequency / factor;
    if (waves > highFrequencyFactor) return frequency;
    const smooth = (waves - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
    return (1 - smooth) * (frequency / factor) + smooth * frequency;
  });
}
