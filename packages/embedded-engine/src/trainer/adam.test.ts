import { expect, test } from "vitest";
import { parameterSet } from "../model/parameters.js";
import { adamStep } from "./adam.js";

const settings = {
  learningRate: 0.1,
  beta1: 0.8,
  beta2: 0.9,
  epsilon: 1e-3,
  weightDecay: 0.5,
  maxGradientNorm: 2,
};

test("steps are those of the published formulas, with bias correction, clipping and decoupled decay", () => {
  const parameters = [
    { name: "matrix", shape: [1, 3], offset: 0, size: 3 },
    { name: "gain", shape: [2], offset: 3, size: 2 },
  ];
  const weights = parameterSet(parameters, Float32Array.of(1, -2, 0.5, 1, 0.25));
  const expected = [...weights.flat];
  const state = { steps: 0, first: new Float32Array(5), second: new Float32Array(5) };
  const m = [0, 0, 0, 0, 0];
  const v = [0, 0, 0, 0, 0];
  for (let t = 1; t <= 4; t++) {
    // The norms of the first gradients are above 2, that of the last is below.
    const gradient = [3, -1, 0, 2, 1].map((value) => value / t ** 1.5);
    const length = Math.hypot(...gradient);
    expect(adamStep(weights, Float32Array.from(gradient), state, settings)).toBeCloseTo(length, 6);
    gradient.forEach((value, i) => {
      const g = length > 2 ? (value * 2) / length : value;
      m[i] = 0.8 * m[i]! + 0.2 * g;
      v[i] = 0.9 * v[i]! + 0.1 * g * g;
      const unbiased = { m: m[i] / (1 - 0.8 ** t), v: v[i] / (1 - 0.9 ** t) };
      const decayed = i < 3 ? expected[i]! * (1 - 0.1 * 0.5) : expected[i]!;
      expected[i] = decayed - (0.1 * unbiased.m) / (Math.sqrt(unbiased.v) + 1e-3);
    });
    weights.flat.forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 5));
  }
  expect(state.steps).toBe(4);
});

test("arrays longer than a chunk are updated completely", () => {
  const size = 3 * 16_384 + 5;
  const weights = parameterSet([{ name: "matrix", shape: [1, size], offset: 0, size }]);
  const state = { steps: 0, first: new Float32Array(size), second: new Float32Array(size) };
  const norm = adamStep(weights, new Float32Array(size).fill(1), state, {
    ...settings,
    epsilon: 1e-12,
    maxGradientNorm: 0,
  });
  expect(norm).toBeCloseTo(Math.sqrt(size), 6);
  expect(weights.flat.every((value) => Math.abs(value + 0.1) < 1e-6)).toBe(true);
});
