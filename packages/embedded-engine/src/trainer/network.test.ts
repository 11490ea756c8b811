import { expect, test } from "vitest";
import { randomWeights, smallLlama } from "../../test/random-models.js";
import { modelParameters } from "../model/parameters.js";
import { emptyGradients } from "./gradients.js";
import { openNetwork } from "./network.js";

const weights = randomWeights(modelParameters(smallLlama), 1);
const batch = { tokens: Int32Array.from({ length: 32 }, (_, i) => (i * 5) % 11), rows: 2, time: 16 };
const rows = {
  positions: Int32Array.from({ length: 13 }, (_, i) => 2 * i + 3),
  targets: Int32Array.from({ length: 13 }, (_, i) => (i * 3) % 11),
};
const coefficients = Float32Array.from({ length: 13 }, (_, i) => Math.sin(i + 1));

async function evaluated({ headRows, mode }: { headRows: number; mode: "keep" | "recompute" }) {
  const network = await openNetwork({ config: smallLlama, weights, headRows });
  const gradients = emptyGradients(weights.parameters);
  const pass = await network.forward(batch, mode);
  const { logprobs, entropies } = await network.score(pass, rows, { entropy: true });
  const again = await network.backward(pass, rows, coefficients, gradients);
  await network.close();
  expect(again.logprobs).toEqual(logprobs);
  return { logprobs, entropies, sums: gradients.sums().slice() };
}

test("logits in batches of rows equal those at once", async () => {
  const all = await evaluated({ headRows: 100, mode: "keep" });
  const few = await evaluated({ headRows: 5, mode: "keep" });
  const [a, b] = [
    [...all.logprobs, ...all.entropies!, ...all.sums],
    [...few.logprobs, ...few.entropies!, ...few.sums],
  ];
  a.forEach((value, i) => expect(Math.abs(b[i]! - value)).toBeLessThan(1e-6));
});

test("kept and recomputed values are bitwise equal", async () => {
  expect(await evaluated({ headRows: 100, mode: "recompute" })).toEqual(
    await evaluated({ headRows: 100, mode: "keep" }),
  );
});

test("the backward pass can run once", async () => {
  const network = await openNetwork({ config: smallLlama, weights, headRows: 100 });
  const pass = await network.forward(batch, "score");
  const gradients = emptyGradients(weights.parameters);
  await expect(network.backward(pass, rows, coefficients, gradients)).rejects.toThrow("ran without gradients");
  await network.close();
});
