import { HeddleError } from "@heddle/errors";
import type { ModelParameter, ParameterSet } from "../model/parameters.js";
import type { OptimizerSettings } from "@heddle/training";
import type { OptimizerState } from "../weights/optimizer-file.js";
import { squaredNorm } from "./arithmetic.js";

const chunk = 16_384;

/** Constants of a step, with all factors that are the same for every element. */
interface StepConstants {
  rate: number;
  keepFirst: number;
  addFirst: number;
  keepSecond: number;
  addSecond: number;
  epsilon: number;
  /** Factor of the decoupled weight decay. */
  shrink: number;
}

/**
 * Performs one step of Adam with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101). With g clipped to
 * the global norm: `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, `w = w (1 - rate decay) - rate m' / (sqrt(v') +
 * epsilon)`, where m' and v' are m and v divided by `1 - b^steps`. Only matrices decay, not gains and biases. Returns
 * the norm before clipping.
 *
 * Throws `failed`, without changing anything, when the norm is not finite.
 */
export function adamStep(
  weights: ParameterSet,
  gradient: Float32Array,
  state: OptimizerState,
  settings: OptimizerSettings,
): number {
  const { learningRate, beta1, beta2, epsilon, weightDecay, maxGradientNorm } = settings;
  const norm = Math.sqrt(squaredNorm(gradient));
  if (!Number.isFinite(norm)) {
    throw new HeddleError("failed", `the gradient norm is ${norm}: the optimizer step was skipped`, {
      details: { reason: "divergence" },
    });
  }
  state.steps++;
  const clip = maxGradientNorm > 0 && norm > maxGradientNorm ? maxGradientNorm / norm : 1;
  // sqrt(v') is sqrt(v) / biasCorrection.
  const biasCorrection = Math.sqrt(1 - beta2 ** state.steps);
  const step = {
    rate: (learningRate * biasCorrection) / (1 - beta1 ** state.steps),
    keepFirst: beta1,
    addFirst: (1 - beta1) * clip,
    keepSecond: beta2,
    addSecond: (1 - beta2) * clip * clip,
    epsilon: epsilon * biasCorrection,
  };
  for (const parameter of weights.parameters) {
    const shrink = decays(parameter) ? 1 - learningRate * weightDecay : 1;
    const end = parameter.offset + parameter.size;
    for (let start = parameter.offset; start < end; start += chunk) {
      adamChunk(weights.flat, gradient, state, start, Math.min(end, start + chunk), { ...step, shrink });
    }
  }
  return norm;
}

function decays({ shape }: ModelParameter): boolean {
  return shape.length > 1;
}

// A top-level function called per chunk: V8 sometimes leaves one long loop unoptimised, 25 times slower.
function adamChunk(
  weights: Float32Array,
  gradient: Float32Array,
  { first, second }: OptimizerState,
  start: number,
  end: number,
  { rate, keepFirst, addFirst, keepSecond, addSecond, epsilon, shrink }: StepConstants,
): void {
  for (let i = start; i < end; i++) {
    const g = gradient[i]!;
    const m = keepFirst * first[i]! + addFirst * g;
    const v = keepSecond * second[i]! + addSecond * g * g;
    first[i] = m;
    second[i] = v;
    weights[i] = weights[i]! * shrink - (rate * m) / (Math.sqrt(v) + epsilon);
  }
}

/** Throws `invalid` for settings outside their range. */
export function checkOptimizerSettings(settings: OptimizerSettings): void {
  const rules: Record<keyof OptimizerSettings, (value: number) => boolean> = {
    learningRate: (value) => value >= 0,
    beta1: (value) => value >= 0 && value < 1,
    beta2: (value) => value >= 0 && value < 1,
    epsilon: (value) => value > 0,
    weightDecay: (value) => value >= 0,
    maxGradientNorm: (value) => value >= 0,
  };
  for (const name of Object.keys(rules) as (keyof OptimizerSettings)[]) {
    const value = settings[name];
    if (!Number.isFinite(value) || !rules[name](value)) {
      throw new HeddleError("invalid", `${name} is ${value}, which is out of range`, { loc: [name] });
    }
  }
}
