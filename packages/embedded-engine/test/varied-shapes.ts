import { modelParameters } from "../src/model/parameters.js";
import { createCpuTrainer } from "../src/trainer/trainer.js";
import { randomWeights, smallLlama, uniform } from "./random-models.js";

// A program that trains a small model on batches of different shapes and prints its resident memory, in MiB, every 20
// steps.

const config = {
  ...smallLlama,
  vocabularySize: 300,
  hiddenSize: 64,
  heads: 4,
  headSize: 16,
  feedForwardSize: 160,
  contextLength: 256,
};
const steps = Number(process.argv[2]);
const random = uniform(9);
const between = (low: number, high: number) => low + Math.floor(random() * (high - low));
const trainer = await createCpuTrainer({
  config,
  weights: randomWeights(modelParameters(config), 1),
  memoryBytes: 2 ** 30,
  threads: 1,
});
for (let step = 1; step <= steps; step++) {
  const longest = between(8, 250);
  const sequences = Array.from({ length: between(1, 12) }, () => {
    const length = between(4, longest);
    return {
      tokens: Int32Array.from({ length }, () => between(0, 300)),
      mask: new Uint8Array(length).fill(1, between(1, length)),
    };
  });
  await trainer.forwardBackward({ name: "cross_entropy", sequences, normalizer: 100 }, { entropy: step % 3 === 0 });
  await trainer.optimStep({
    learningRate: 1e-3,
    beta1: 0.9,
    beta2: 0.99,
    epsilon: 1e-8,
    weightDecay: 0,
    maxGradientNorm: 1,
  });
  if (step % 20 === 0) process.stdout.write(`${Math.round(process.memoryUsage().rss / 2 ** 20)}\n`);
}
await trainer.close();
