import type { BaseModelName, OptimizerSettings } from "../port.js";

export interface OptimizerDefaults extends OptimizerSettings {
  /** Number of steps of linear warm-up from zero to the learning rate. */
  warmUpSteps: number;
  /** Fraction of the learning rate at the last step, reached linearly. 1 keeps it constant. */
  finalFraction: number;
}

/** Models of a few million weights need large steps; a learning rate for billions of weights would not move them. */
const bundled = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, maxGradientNorm: 1 };
const other = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, warmUpSteps: 0, finalFraction: 1 };

const defaults = {
  bundled: {
    rl: { ...bundled, learningRate: 5e-4, warmUpSteps: 0, finalFraction: 1 },
    sft: { ...bundled, learningRate: 3e-3, warmUpSteps: 5, finalFraction: 0.05 },
    preference: { ...bundled, learningRate: 5e-4, warmUpSteps: 0, finalFraction: 1 },
  },
  other: {
    rl: { ...other, learningRate: 5e-6, weightDecay: 0.1, maxGradientNorm: 0.1 },
    sft: { ...other, learningRate: 5e-5, weightDecay: 0.01, maxGradientNorm: 1 },
    preference: { ...other, learningRate: 5e-6, weightDecay: 0.01, maxGradientNorm: 1 },
  },
} satisfies Record<string, Record<"rl" | "sft" | "preference", OptimizerDefaults>>;

/** Returns the default optimizer settings of a base model. */
export function optimizerDefaults(baseModel: BaseModelName, kind: "rl" | "sft" | "preference"): OptimizerDefaults {
  return defaults[isBundledModel(baseModel) ? "bundled" : "other"][kind];
}

/** Whether the model is bundled with the engine; such models have a few million weights. */
export function isBundledModel(baseModel: BaseModelName): boolean {
  return baseModel === "heddle/starter" || baseModel.startsWith("random:");
}

/** Returns the learning rate of step `index` (from 0) of `steps`, with warm-up and decay. */
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
