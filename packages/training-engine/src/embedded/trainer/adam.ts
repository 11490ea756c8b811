import { EngineError } from "../../engine-error.js";
import type { ModelParameter, ParameterSet } from "../../model/parameters.js";
import type { OptimizerSettings } from "../../port.js";
import type { OptimizerState } from "../../weights/optimizer-file.js";
import { squaredNorm } from "./arithmetic.js";

const chunk = 16_384;

/** Constants of a step, with all that can be multiplied once for all numbers. */
interface StepConstants {
  rate: number;
  keepFirst: number;
  addFirst: number;
  keepSecond: number;
  addSecond: number;
  epsilon: number;
  /** Weights are multiplied by this. */
  shrink: number;
}

/**
 * One step of Adam with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101): with g clipped to the global norm,
 * `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, `w = w (1 - rate decay) - rate m' / (sqrt(v') + epsilon)`, where m' and v'
 * are m and v divided by `1 - b^steps`. Only matrices decay, not gains and biases. Returns the norm before clipping.
 *
 * Fails with `failed` and changes nothing when the norm is not finite.
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
    throw new EngineError("failed", `the norm of the gradient is ${norm}: the step was not made`);
  }
  state.steps++;
  const clip = maxGradientNorm > 0 && norm > maxGradientNorm ? maxGradientNorm / norm : 1;
  // sqrt(v') is sqrt(v) / unbias.
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

// Short calls of a function at the top level: one long loop was sometimes left unoptimised by V8, 25 times slower.
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

/** Refuses numbers that no step can be made with. */
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
      throw new EngineError("invalid", `${value} is out of range`, name);
    }
  }
}
