/**
 * Trains the starter model on its corpus and writes it in bf16 next to its tokenizer. Depends only on the seed. A
 * stopped run, for example by Ctrl-C, is resumed from its work directory.
 *
 *   pnpm --filter @heddle/embedded-engine starter [--size d128] [--steps 6500] [--decay 1725] [--peak 0.003]
 *     [--seed 1] [--work .heddle/starter] [--minutes 30] [--score-every 500] [--export]
 *
 * `--minutes` ends this process after that time and keeps its state. `--export` writes models/starter at the end. The
 * learning rate falls in the last `--decay` steps; before them a run can be stopped and resumed with other `--steps`.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { createCpuTrainer } from "../src/trainer/trainer.js";
import { openTokenizer } from "@heddle/chat-format";
import { initialWeights } from "../src/weights/initial-weights.js";
import { batches } from "./training/batches.js";
import { encoder } from "./training/encode.js";
import { exportStarter } from "./training/export.js";
import { heldOutExamples, scoreByLogprobs } from "./training/held-out.js";
import type { Plan } from "./training/learning-rate.js";
import { learningRate } from "./training/learning-rate.js";
import { totalWeight } from "./training/rows.js";
import { sizeNamed } from "./training/sizes.js";
import { starterDirectory, starterRenderer } from "./training/starter-files.js";
import { keepState, latestState } from "./training/work-directory.js";

const { values } = parseArgs({
  options: {
    size: { type: "string", default: "d128" },
    steps: { type: "string", default: "6500" },
    decay: { type: "string", default: "1725" },
    peak: { type: "string", default: "0.003" },
    seed: { type: "string", default: "1" },
    work: { type: "string", default: ".heddle/starter" },
    minutes: { type: "string", default: "100000" },
    "score-every": { type: "string", default: "500" },
    export: { type: "boolean", default: false },
  },
});
const [steps, seed, scoreEvery] = [Number(values.steps), Number(values.seed), Number(values["score-every"])];
const keepEvery = 500;
const config = sizeNamed(values.size);
const work = resolve(values.work);

const plan: Plan = { steps, peak: Number(values.peak), warmUp: 50, decay: Number(values.decay) };
const adam = { beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.01, maxGradientNorm: 1 };

const encode = encoder(await openTokenizer(starterDirectory), await starterRenderer());
const heldOut = heldOutExamples(encode, 40, 7);

const found = await latestState(work, config);
const trainer = await createCpuTrainer({
  config,
  weights: found?.weights ?? initialWeights(config, seed),
  optimizer: found?.optimizer,
  memoryBytes: 2 ** 31,
  // The bits of the result depend on it.
  threads: 1,
});
const first = found?.optimizer.steps ?? 0;
const begun = performance.now();
const minutes = () => (performance.now() - begun) / 60_000;
console.log(`${values.size}: ${trainer.weights.flat.length} weights, from step ${first} of ${steps}`);

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
let tokens = 0;
let mean = Number.NaN;
let step = first;
const source = batches(encode, seed, first);
while (step < steps && !stop.signal.aborted && minutes() < Number(values.minutes)) {
  const sequences = source.next().value;
  const { loss } = await trainer.forwardBackward({
    name: "cross_entropy",
    sequences,
    normalizer: totalWeight(sequences),
  });
  await trainer.optimStep({ ...adam, learningRate: learningRate(plan, step) });
  step++;
  tokens += sequences.reduce((sum, sequence) => sum + sequence.tokens.length, 0);
  mean = Number.isNaN(mean) ? loss : 0.98 * mean + 0.02 * loss;
  if (step % 20 === 0) showProgress();
  if (step % scoreEvery === 0 || step === steps) await showScores();
  if (step % keepEvery === 0 || step === steps) await keep();
}
if (step % keepEvery !== 0 && step < steps) await keep();
if (values.export) await exportStarter(starterDirectory, { config, weights: trainer.weights });
await trainer.close();

function showProgress(): void {
  const rate = tokens / (minutes() * 60);
  const { user, system } = process.cpuUsage();
  const left = ((steps - step) * (minutes() / (step - first))).toFixed(1);
  const line = `step ${step}/${steps}  loss ${mean.toFixed(3)}  ${rate.toFixed(0)} tokens/s  ${((user + system) / 1e6).toFixed(0)} CPU s  ${left} min left`;
  process.stdout.write(process.stdout.isTTY ? `\r${line}\u001b[K` : `${line}\n`);
}

async function showScores(): Promise<void> {
  const scores = await scoreByLogprobs(heldOut, (sequences) => trainer.logprobs(sequences));
  const total = scores.reduce((sum, { loss }) => sum + loss, 0) / scores.length;
  console.log(`\nheld out after ${step} steps: ${total.toFixed(3)} nats per token, mean of tasks`);
  for (const { task, loss, certain } of scores) {
    console.log(`  ${task.padEnd(22)} ${loss.toFixed(3)}  ${(100 * certain).toFixed(0)} % certain`);
  }
}

async function keep(): Promise<void> {
  await keepState(work, { config, weights: trainer.weights, optimizer: trainer.optimizer }, starterDirectory, seed);
}
