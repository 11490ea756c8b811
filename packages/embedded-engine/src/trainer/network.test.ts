import { expect, test } from "vitest";
import { randomWeights, smallLlama } from "../../test/random-models.js";
import type { LoraConfig } from "@heddle/training";
import { maxBlockLength } from "../model/attention-blocks.js";
import type { ModelConfig } from "../model/config.js";
import { adapterParameters, modelParameters } from "../model/parameters.js";
import { emptyGradients } from "./gradients.js";
import { openNetwork } from "./network.js";

const weights = randomWeights(modelParameters(smallLlama), 1);
const batch = { tokens: Int32Array.from({ length: 32 }, (_, i) => (i * 5) % 11), rows: 2, time: 16 };
const rows = {
  positions: Int32Array.from({ length: 13 }, (_, i) => 2 * i + 3),
  targets: Int32Array.from({ length: 13 }, (_, i) => (i * 3) % 11),
};
const coefficients = Float32Array.from({ length: 13 }, (_, i) => Math.sin(i + 1));

async function evaluated({ headRows, threads }: { headRows: number; threads?: number }) {
  const network = await openNetwork({ config: smallLlama, weights, headRows, threads });
  const gradients = emptyGradients(weights.parameters);
  const pass = await network.forward(batch, { gradient: true, lowMemory: false });
  const { logprobs, entropies } = await network.score(pass, rows, { entropy: true });
  const again = await network.backward(pass, rows, coefficients, gradients);
  await network.close();
  expect(again.logprobs).toEqual(logprobs);
  return { logprobs, entropies, sums: gradients.sums().slice() };
}

test("logits in batches of rows equal those at once", async () => {
  const all = await evaluated({ headRows: 100 });
  const few = await evaluated({ headRows: 5 });
  const [a, b] = [
    [...all.logprobs, ...all.entropies!, ...all.sums],
    [...few.logprobs, ...few.entropies!, ...few.sums],
  ];
  a.forEach((value, i) => expect(Math.abs(b[i]! - value)).toBeLessThan(1e-6));
});

test("threads that divide operators change no bit", async () => {
  expect(await evaluated({ headRows: 100, threads: 3 })).toEqual(await evaluated({ headRows: 100 }));
});

const adapter: LoraConfig = { rank: 2, alpha: 6, targets: ["q", "k", "v", "o", "gate", "up", "down"] };
const passes: Record<string, [ModelConfig, LoraConfig?]> = {
  "one head per key": [{ ...smallLlama, heads: 2, keyValueHeads: 2 }],
  "grouped queries": [{ ...smallLlama, heads: 4, keyValueHeads: 2 }],
  "norms of queries and keys": [{ ...smallLlama, family: "qwen3", keyValueHeads: 1, queryKeyNorm: true }],
  "windows within and beyond a block": [
    { ...smallLlama, keyValueHeads: 1, layerKinds: [{ window: 20 }, { window: maxBlockLength + 9 }] },
  ],
  "norms around and after blocks": [{ ...smallLlama, norms: "around", residualScale: 0.5, activation: "gelu_tanh" }],
  "an adapter": [{ ...smallLlama, heads: 4, keyValueHeads: 2 }, adapter],
};

test.each(Object.entries(passes))(
  "attention in blocks has the values and gradients of attention at once: %s",
  async (_name, [config, shape]) => {
    const weights = randomWeights(modelParameters(config), 1);
    const set = shape && randomWeights(adapterParameters(config, shape), 2);
    const trained = set ?? weights;
    const [rowCount, time] = [2, 3 * maxBlockLength];
    const long = { tokens: Int32Array.from({ length: rowCount * time }, (_, i) => (i * i) % 11), rows: rowCount, time };
    const count = rowCount * time - 1;
    const head = { positions: Int32Array.from({ length: count }, (_, i) => i), targets: long.tokens.subarray(1) };
    const slopes = Float32Array.from({ length: count }, (_, i) => Math.sin(i + 1));
    const run = async (lowMemory: boolean) => {
      const adapted = shape && set && { config: shape, set };
      const network = await openNetwork({ config, weights, adapter: adapted, headRows: 1000 });
      const scored = await network.score(await network.forward(long, { gradient: false, lowMemory }), head, {
        entropy: false,
      });
      const gradients = emptyGradients(trained.parameters);
      const pass = await network.forward(long, { gradient: true, lowMemory });
      const { logprobs } = await network.backward(pass, head, slopes, gradients);
      await network.close();
      expect(logprobs).toEqual(scored.logprobs);
      return { logprobs, sums: gradients.sums().slice() };
    };
    const [whole, blocks] = [await run(false), await run(true)];
    const largest = (one: Float32Array, other: Float32Array) =>
      one.reduce((most, value, i) => Math.max(most, Math.abs(value - other[i]!)), 0);
    expect(largest(whole.logprobs, blocks.logprobs)).toBeLessThan(2e-5);
    const scale = whole.sums.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    expect(scale).toBeGreaterThan(1);
    expect(largest(whole.sums, blocks.sums) / scale).toBeLessThan(1e-5);
  },
);

test("the backward pass can run once", async () => {
  const network = await openNetwork({ config: smallLlama, weights, headRows: 100 });
  const pass = await network.forward(batch, { gradient: false, lowMemory: false });
  const gradients = emptyGradients(weights.parameters);
  await expect(network.backward(pass, rows, coefficients, gradients)).rejects.toThrow("ran without gradients");
  await network.close();
});

test("an abort takes effect before the next layer, forward and backward", async () => {
  const deep = { ...smallLlama, layers: 5 };
  let remaining = Infinity;
  const stopped = () => --remaining < 0;
  const deepWeights = randomWeights(modelParameters(deep), 1);
  const network = await openNetwork({ config: deep, weights: deepWeights, headRows: 100, stopped });
  const gradients = emptyGradients(deepWeights.parameters);
  const mode = { gradient: true, lowMemory: false };
  const pass = await network.forward(batch, mode);
  remaining = 2;
  await expect(network.forward(batch, mode)).rejects.toMatchObject({ code: "aborted" });
  // One check is of the head, and two layers follow.
  remaining = 3;
  await expect(network.backward(pass, rows, coefficients, gradients)).rejects.toMatchObject({ code: "aborted" });
  expect(pass.layers).toHaveLength(3);
  await network.close();
});
