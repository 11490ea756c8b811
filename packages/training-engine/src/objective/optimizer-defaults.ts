import type { BaseModelName, OptimizerSettings } from "../port.js";

export interface OptimizerDefaults extends OptimizerSettings {
  /** Steps before the whole learning rate is reached, in a straight line from nothing. */
  warmUpSteps: number;
  /** Share of the learning rate that is left at the last step; it falls there in a straight line. 1: constant. */
  finalFraction: number;
}

/** Models of a few million weights take large steps; a learning rate for billions would not move them. */
const bundled = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, maxGradientNorm: 1 };
const other = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, warmUpSteps: 0, finalFraction: 1 };

const defaults = {
  bundled: {
    rl: { ...bundled, learningRate: 5e-4, warmUpSteps: 0, finalFraction: 1 },
    sft: { ...bundled, learningRate: 3e-3, warmUpSteps: 5, finalFraction: 0.05 },
  },
  other: {
    rl: { ...other, learningRate: 5e-6, weightDecay: 0.1, maxGradientNorm: 0.1 },
    sft: { ...other, learningRate: 5e-5, weightDecay: 0.01, maxGradientNorm: 1 },
  },
} satisfies Record<string, Record<"rl" | "sft", OptimizerDefaults>>;

/** How a base model is trained when the caller does not say. */
export function optimizerDefaults(baseModel: BaseModelName, kind: "rl" | "sft"): OptimizerDefaults {
  return defaults[isBundledModel(baseModel) ? "bundled" : "other"][kind];
}

/** A model of a few million weights that comes with the engine. */
export function isBundledModel(baseModel: BaseModelName): boolean {
  return baseModel === "heddle/starter" || baseModel.startsWith("random:");
}

/** Learning rate of step `index` (from 0) of `steps`, with the warm-up and the decay of the defaults. */
export function scheduledLearningRate(
  { learningRate, warmUpSteps, finalFraction }: OptimizerDefaults,
  index: number,
  steps: number,
): number {
  const warmUp = Math.min(warmUpSteps, steps - 1);
  if (index < warmUp) return (learningRate * (index + 1)) / (warmUp + 1);
  const progress = steps - 1 > warmUp ? (index - warmUp) / (steps - 1 - warmUp) : 0;
  return learningRate * (1 - (1 - finalFraction) * progress);
}
