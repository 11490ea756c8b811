import type { LoraConfig } from "@heddle/training";
import { expect, test } from "vitest";
import {
  activationBytes,
  requireSamplingMemory,
  requireTrainingMemory,
  samplingMemory,
  trainingMemory,
} from "./memory.js";
import { modelParameters, parameterCount } from "./parameters.js";
import { presets } from "./presets.js";

const medium = presets.get("medium")!;
const large = { ...medium, hiddenSize: 1024, layers: 28, feedForwardSize: 3072, vocabularySize: 152_000 };
const adapter: LoraConfig = { rank: 8, alpha: 16, targets: ["q", "v"] };

test("full training needs weights, gradients and two moments; an adapter needs much less", () => {
  const weights = 4 * parameterCount(modelParameters(large));
  const full = trainingMemory(large);
  expect(full.parts).toMatchObject({ weights, moments: 2 * weights });
  expect(full.total).toBeGreaterThan(4 * weights);
  const adapted = trainingMemory(large, adapter).total;
  expect(adapted).toBeGreaterThan(weights);
  expect(adapted).toBeLessThan(1.5 * weights);
});

test("keeping activations costs more with every layer, computing them again only their inputs", () => {
  const batch = { rows: 4, time: 256 };
  const kept = activationBytes(medium, { ...batch, kept: true });
  const again = activationBytes(medium, { ...batch, kept: false });
  expect(kept).toBeGreaterThan(2 * again);
  const deeper = activationBytes({ ...medium, layers: 12 }, { ...batch, kept: false });
  expect(deeper - again).toBe(1.5 * 6 * 4 * 256 * 256 * 4);
});

test("a model that exceeds the memory is refused with the required and available memory and a size that would fit", () => {
  const { total } = trainingMemory(large);
  expect(() => requireTrainingMemory(large, undefined, total)).not.toThrow();
  const refusal = {
    code: "too_large",
    message: expect.stringMatching(/^training all weights .* needs \d+\.\d+ GB \(weights/),
  };
  expect(() => requireTrainingMemory(large, undefined, total - 1)).toThrow(expect.objectContaining(refusal));
  expect(() => requireTrainingMemory(large, undefined, total - 1)).toThrow(
    /GB are available; an adapter of rank 8 would fit/,
  );
  expect(() => requireTrainingMemory(large, undefined, 1e8)).toThrow(
    /a model of about \d+\.?\d* million weights instead of/,
  );
  expect(() => requireTrainingMemory(large, adapter, 1e8)).toThrow(/^training an adapter of rank 8/);
  expect(() => requireSamplingMemory(large, samplingMemory(large).total)).not.toThrow();
  expect(() => requireSamplingMemory(large, 1e9)).toThrow(/^sampling from this model needs .* 1.00 GB are available/);
});

test("the suggested size fits", () => {
  const limit = 3e8;
  const refusal = (): void => requireTrainingMemory(large, undefined, limit);
  expect(refusal).toThrow(/of about/);
  let message = "";
  try {
    refusal();
  } catch (error) {
    message = String(error);
  }
  const millions = Number(/about (\d+(\.\d)?) million/.exec(message)?.[1]);
  expect(millions * 1e6 * 16).toBeLessThan(limit);
  expect(millions * 1e6 * 32).toBeGreaterThan(limit);
});
