import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { LoraConfig } from "@heddle/training";
import { expect, test } from "vitest";
import { characterTokenizer } from "../../test/small-models.js";
import { fixtures } from "../../test/weight-files.js";
import { createCpuSampler } from "../decode/cpu-sampler.js";
import { trainsAllWeights } from "../model/memory.js";
import { createCpuTrainer } from "../trainer/trainer.js";
import type { Adapter } from "./adapter.js";
import { readAdapter } from "./adapter.js";
import { initialAdapter } from "./initial-weights.js";
import type { ModelWeights } from "./model-directory.js";
import { loadModel } from "./model-directory.js";
import { openSafetensors } from "./safetensors.js";

interface Recorded {
  tokens: Int32Array;
  /** Log-softmax of the logits at every position: [tokens, vocabulary]. */
  logprobs: Float32Array;
}

/** A sequence of one token says nothing of what comes after it in a trainer, which looks at tokens that were given. */
async function recordedIn(directory: string): Promise<Recorded[]> {
  const sequences: number[][] = JSON.parse(await readFile(join(directory, "sequences.json"), "utf8"));
  const file = await openSafetensors(join(directory, "expected.safetensors"));
  const read = sequences.map(async (tokens, at) => ({
    tokens: Int32Array.from(tokens),
    logprobs: await file.read(`logprobs.${at}`),
  }));
  const recorded = await Promise.all(read);
  await file.close();
  return recorded.filter(({ tokens }) => tokens.length > 1);
}

/** Largest difference between recorded log-probabilities and the trainer's, of the tokens of the sequences. */
async function trainerDifference(directory: string, model: ModelWeights, adapter?: Adapter): Promise<number> {
  const recorded = await recordedIn(directory);
  // Where not all weights can be trained: a new adapter changes nothing.
  const trained = adapter ?? (trainsAllWeights(model.config) ? undefined : withoutEffect(model));
  const trainer = await createCpuTrainer({ ...model, adapter: trained, memoryBytes: 1e9 });
  const sequences = recorded.map(({ tokens }) => ({
    tokens,
    mask: Uint8Array.from(tokens, (_, at) => Math.min(at, 1)),
  }));
  const actual = await trainer.logprobs(sequences);
  await trainer.close();
  const differences = recorded.flatMap(({ tokens, logprobs }, index) =>
    Array.from(tokens.subarray(1), (token, at) =>
      Math.abs(actual[index]![at + 1]! - logprobs[at * model.config.vocabularySize + token]!),
    ),
  );
  return Math.max(...differences);
}

function withoutEffect({ config: model }: ModelWeights): Adapter {
  const config: LoraConfig = { rank: 1, alpha: 1, targets: ["q"] };
  return { config, set: initialAdapter(model, config, 1) };
}

/** The same of the sampler, of every token of the vocabulary at every position of a prompt. */
async function samplerDifference(directory: string, model: ModelWeights, adapter?: Adapter): Promise<number> {
  const { vocabularySize } = model.config;
  const sampler = createCpuSampler({ memoryBytes: 1e9 });
  await sampler.addModel("base", { ...model, tokenizer: characterTokenizer(vocabularySize) });
  if (adapter) await sampler.addAdapter("adapter", "base", adapter);
  const weights = adapter ? "adapter" : "base";
  const differences: number[] = [];
  const recorded = await recordedIn(directory);
  for (const { tokens, logprobs } of recorded) {
    const request = { weights, prompt: tokens, n: 1, maxTokens: 1, promptLogprobs: vocabularySize };
    const { promptLogprobs = [] } = await sampler.generate(request);
    for (const [at, candidates] of promptLogprobs.entries()) {
      if (at === 0 || !candidates) continue;
      for (const { token, logprob } of candidates) {
        differences.push(Math.abs(logprob - logprobs[(at - 1) * vocabularySize + token]!));
      }
    }
  }
  await sampler.close();
  const positions = recorded.reduce((sum, { tokens }) => sum + tokens.length - 1, 0);
  // The token that follows comes first, whether or not it is among the others.
  expect(differences.length).toBeGreaterThanOrEqual(positions * vocabularySize);
  return Math.max(...differences);
}

test.each(await readdir(join(fixtures, "models")))(
  "%s has the log-probabilities that transformers gives",
  async (name) => {
    const directory = join(fixtures, "models", name);
    const model = await loadModel(directory);
    expect(await trainerDifference(directory, model)).toBeLessThan(1e-4);
    expect(await samplerDifference(directory, model)).toBeLessThan(1e-4);
  },
);

const adapters = (await readdir(join(fixtures, "adapters"))).map(
  (name) => [name, name.replace(/(?:-shared)?-lora$/u, "")] as const,
);

test.each(adapters)("%s changes %s as it does in PEFT", async (name, base) => {
  const model = await loadModel(join(fixtures, "models", base));
  const directory = join(fixtures, "adapters", name);
  const adapter = await readAdapter(directory, model.config);
  expect(await trainerDifference(directory, model, adapter)).toBeLessThan(1e-4);
  expect(await samplerDifference(directory, model, adapter)).toBeLessThan(1e-4);
  expect(await trainerDifference(directory, model)).toBeGreaterThan(0.1);
});

const withGradient = adapters.filter(([name]) => existsSync(join(fixtures, "adapters", name, "gradient")));

test.each(withGradient)("%s on %s has the gradients that PyTorch computes", async (name, base) => {
  const model = await loadModel(join(fixtures, "models", base));
  const directory = join(fixtures, "adapters", name);
  const adapter = await readAdapter(directory, model.config);
  const expected = await readAdapter(join(directory, "gradient"), model.config);
  const sequences = (await recordedIn(directory)).map(({ tokens }) => ({
    tokens,
    mask: Uint8Array.from(tokens, (_, at) => Math.min(at, 1)),
  }));
  const trainer = await createCpuTrainer({ ...model, adapter, memoryBytes: 1e9 });
  await trainer.forwardBackward({ name: "cross_entropy", sequences, normalizer: 1 });
  // With both decays 0, the first moment is the gradient.
  const still = { learningRate: 0, beta1: 0, beta2: 0, epsilon: 1, weightDecay: 0, maxGradientNorm: 0 };
  await trainer.optimStep(still);
  const actual = trainer.optimizer.first.slice();
  await trainer.close();
  for (const { name: factor, offset, size } of expected.set.parameters) {
    const wanted = expected.set.views.get(factor)!;
    const largest = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const worst = wanted.reduce((most, value, at) => Math.max(most, Math.abs(value - actual[offset + at]!)), 0);
    expect(size).toBe(wanted.length);
    expect(largest, factor).toBeGreaterThan(1e-3);
    expect(worst / largest, factor).toBeLessThan(1e-4);
  }
});
