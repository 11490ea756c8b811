import type { LayerKind, ModelConfig, RotaryScaling } from "../model/config.js";
import { rotaryWidth } from "../model/layer-kinds.js";

/** Cosines and sines [positions, width / 2] that rotate the pairs (i, i + width / 2) of the rotated part of a head. */
export interface RotaryTables {
  cosines: Float32Array;
  sines: Float32Array;
}

export function rotaryTables(config: ModelConfig, positions: number, kind: LayerKind = {}): RotaryTables {
  const { frequencies, factor } = rotation(config, kind);
  const half = frequencies.length;
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

/** Radians per position of each pair, and the factor of cosines and sines, in layers of a kind. */
export function rotation(config: ModelConfig, { rotary }: LayerKind): { frequencies: number[]; factor: number } {
  if (rotary === undefined) return { frequencies: rotaryFrequencies(config), factor: rotaryFactor(config) };
  const { localRotaryBase = config.rotaryBase, rotaryScaling: _, ...rest } = config;
  const frequencies = rotaryFrequencies({ ...rest, rotaryBase: localRotaryBase });
  return { frequencies: rotary === "none" ? frequencies.map(() => 0) : frequencies, factor: 1 };
}

/**
 * Returns the radians per position of each pair: `base ^ (-2i / width)`, scaled as the model configures. The Llama 3
 * rule divides frequencies with wavelengths long relative to the original context, keeps short ones, and interpolates
 * between. So does YaRN, which interpolates by the index of the pair.
 */
export function rotaryFrequencies(config: ModelConfig): number[] {
  const { rotaryBase, rotaryScaling } = config;
  const width = rotaryWidth(config);
  const unscaled = Array.from({ length: width / 2 }, (_, i) => rotaryBase ** ((-2 * i) / width));
  if (!rotaryScaling) return unscaled;
  if (rotaryScaling.type === "linear") return unscaled.map((frequency) => frequency / rotaryScaling.factor);
  if (rotaryScaling.type === "yarn") return yarnFrequencies(unscaled, width, rotaryBase, rotaryScaling);
  if (rotaryScaling.type === "longrope") {
    return unscaled.map((frequency, pair) => frequency / (rotaryScaling.divisors[pair] ?? 1));
  }
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
function rotaryFactor({ rotaryScaling }: ModelConfig): number {
  return rotaryScaling && "attentionFactor" in rotaryScaling ? rotaryScaling.attentionFactor : 1;
}

function yarnFrequencies(
  unscaled: number[],
  width: number,
  base: number,
  { factor, originalContextLength, betaFast, betaSlow, truncate }: Extract<RotaryScaling, { type: "yarn" }>,
): number[] {
  /** Index of the pair that rotates so many times within the original context. */
  const pairOf = (rotations: number) =>
    (width * Math.log(originalContextLength / (rotations * 2 * Math.PI))) / (2 * Math.log(base));
  const [fast, slow] = [pairOf(betaFast), pairOf(betaSlow)];
  const low = Math.max(truncate ? Math.floor(fast) : fast, 0);
  const high = Math.min(truncate ? Math.ceil(slow) : slow, width - 1);
  const ramp = high === low ? 0.001 : high - low;
  return unscaled.map((frequency, pair) => {
    const divided = Math.min(1, Math.max(0, (pair - low) / ramp));
    return frequency * (1 - divided) + (frequency / factor) * divided;
  });
}
