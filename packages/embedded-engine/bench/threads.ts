/**
 * Speed of a model of 100 million weights on one thread and on several: training an adapter, training all weights, and
 * sampling.
 *
 *   node --import tsx -C @heddle/source packages/embedded-engine/bench/threads.ts [--threads 2] [--rounds 12]
 *
 * The works alternate, so that other load affects all of them; the ratios are of the fastest rounds.
 */
import { availableParallelism } from "node:os";
import type { LoraConfig } from "@heddle/training";
import { loraTargets } from "@heddle/training";
import { createCpuSampler } from "../src/decode/cpu-sampler.js";
import { modelParameters, parameterCount } from "../src/model/parameters.js";
import { createCpuTrainer } from "../src/trainer/trainer.js";
import { initialAdapter, initialWeights } from "../src/weights/initial-weights.js";
import { llama } from "./llama.js";
import { option } from "./option.js";

const several = Number(option("threads") ?? availableParallelism());
const rounds = Number(option("rounds") ?? 12);
const config = llama({ vocabularySize: 16_384, hiddenSize: 768, layers: 12, heads: 12, feedForwardSize: 2048 }, 1024);
/** Bytes of memory: with enough, each thread trains batches of its own; with little, the threads divide operators. */
const plenty = 1e10;
const little = 2.4e9;
const shape: LoraConfig = { rank: 8, alpha: 16, targets: [...loraTargets] };
const adam = { learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, maxGradientNorm: 1 };
const [rows, time] = [2, 256];
const sampled = { rows: [1, 8], tokens: 8 };

type Work = () => Promise<void>;

const million = (parameterCount(modelParameters(config)) / 1e6).toFixed(0);
console.log(`${million} M weights, 1 and ${several} threads, ${rounds} rounds, the fastest of each`);
for (const [memory, memoryBytes, adapter] of [
  ["plenty of memory", plenty, shape],
  ["little memory", little, shape],
  ["plenty of memory", plenty, undefined],
] as const) {
  const name = `${adapter ? "an adapter" : "all weights"}, ${memory}, tokens trained per second`;
  await compare(name, rows * time, (threads) => training(threads, memoryBytes, adapter));
}
for (const n of sampled.rows) {
  await compare(`${n} completions, tokens sampled per second`, n * sampled.tokens, (threads) => sampling(threads, n));
}

/** Measures a kind of work with one thread and with several. */
async function compare(
  name: string,
  tokens: number,
  open: (threads: number) => Promise<{ work: Work; close: Work }>,
): Promise<void> {
  const opened = [await open(1), await open(several)];
  const best = [Infinity, Infinity];
  for (let round = -1; round < rounds; round++) {
    for (const [at, { work }] of opened.entries()) {
      const start = performance.now();
      await work();
      if (round >= 0) best[at] = Math.min(best[at] ?? Infinity, performance.now() - start);
    }
  }
  for (const { close } of opened) await close();
  const [one = NaN, more = NaN] = best;
  const speed = (ms: number) => ((1000 * tokens) / ms).toFixed(1);
  console.log(`${name}: ${speed(one)} on 1 thread, ${speed(more)} on ${several}: ${(one / more).toFixed(2)} times`);
}

async function training(
  threads: number,
  memoryBytes: number,
  adapter?: LoraConfig,
): Promise<{ work: Work; close: Work }> {
  const weights = initialWeights(config, 1);
  const trained = adapter && { config: adapter, set: initialAdapter(config, adapter, 1) };
  const trainer = await createCpuTrainer({ config, weights, adapter: trained, memoryBytes, threads });
  const sequences = Array.from({ length: rows }, (_, row) => ({
    tokens: Int32Array.from({ length: time + 1 }, (_, i) => ((i + row) * 7919) % config.vocabularySize),
    mask: new Uint8Array(time + 1).fill(1, 1),
  }));
  return {
    async work() {
      await trainer.forwardBackward({ name: "cross_entropy", sequences, normalizer: rows * time });
      await trainer.optimStep(adam);
    },
    close: () => trainer.close(),
  };
}

async function sampling(threads: number, n: number): Promise<{ work: Work; close: Work }> {
  const sampler = createCpuSampler({ memoryBytes: 2 ** 31, threads });
  const { vocabularySize } = config;
  const nothing = new Uint8Array();
  const tokenizer = { vocabularySize, tokenBytes: () => nothing, specialIds: new Set<number>(), eosIds: [] };
  await sampler.addModel("model", { config, weights: initialWeights(config, 1), tokenizer });
  const prompt = Int32Array.from({ length: 16 }, (_, i) => i * 31);
  return {
    async work() {
      await sampler.generate({ weights: "model", prompt, n, maxTokens: sampled.tokens, seed: 1, ignoreEos: true });
    },
    close: () => sampler.close(),
  };
}
