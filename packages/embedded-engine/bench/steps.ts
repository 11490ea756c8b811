/**
 * CPU time of complete training steps on one thread; with `--python`, alternating with TRL, which
 * `bench/trl/compare.sh` installs.
 *
 *   node --import tsx -C @heddle/source packages/embedded-engine/bench/steps.ts [--python <python with trl>] [--steps 20] [--rounds 3]
 *
 * A Llama of 1.1 million weights: SFT on 8 sequences of 221 tokens; GRPO on 16 completions of 16 tokens to a prompt of
 * 16, sampling, rewards and update, in total and separately. 32 bit floats, Adam, gradients clipped to norm 1.
 */
import { execFile } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createCpuSampler } from "../src/decode/cpu-sampler.js";
import { createCpuTrainer } from "../src/trainer/trainer.js";
import { modelParameters, parameterCount } from "../src/model/parameters.js";
import { groupAdvantages } from "@heddle/training";
import type { PolicySequence, CrossEntropySequence } from "@heddle/training";
import { initialWeights } from "../src/weights/initial-weights.js";
import { llama } from "./llama.js";
import { median } from "./median.js";
import { option } from "./option.js";

/** CPU milliseconds, medians. */
type Measurements = Record<string, number>;

const tasks = ["sft", "grpo"] as const;
const warmUp = 5;
const [promptTokens, sampledTokens, groupSize] = [16, 16, 16];
const memoryBytes = 2 ** 32;
const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, maxGradientNorm: 1 };
const policy = {
  ppo: true,
  epsilon: 0.2,
  epsilonHigh: 0.2,
  importanceSamplingLevel: "token",
  maskProbRatio: false,
} as const;

const config = llama({ vocabularySize: 2304, hiddenSize: 128, layers: 4, heads: 4, feedForwardSize: 352 });

const steps = Number(option("steps") ?? 20);
const task = option("task");
if (task === undefined) await compare(option("python"), Number(option("rounds") ?? 3));
else console.log(JSON.stringify(task === "sft" ? await sft() : await grpo()));

/** Each round starts two processes in sequence, so that other load affects both. */
async function compare(python: string | undefined, rounds: number): Promise<void> {
  const run = promisify(execFile);
  const script = fileURLToPath(new URL("trl/train.py", import.meta.url));
  const self = fileURLToPath(import.meta.url);
  const lastLine = (text: string) => JSON.parse(text.trim().split("\n").at(-1) ?? "") as Record<string, unknown>;
  const weights = parameterCount(modelParameters(config));
  console.log(`${(weights / 1e6).toFixed(2)} M weights, ${steps} steps a round, ${rounds} rounds, one thread`);
  console.log(`${cpus()[0]?.model ?? "unknown processor"}, Node ${process.version}`);
  for (const task of tasks) {
    const heddle: Measurements[] = [];
    const theirs: Measurements[] = [];
    let versions = "";
    for (let round = 0; round < rounds; round++) {
      if (python !== undefined) {
        const trl = lastLine((await run(python, [script, task, String(steps)])).stdout);
        if (trl["weights"] !== weights) throw new Error(`TRL trains ${String(trl["weights"])} weights, not ${weights}`);
        versions = `${String(trl["versions"])}; `;
        theirs.push(numbersOf(trl));
      }
      const started = [
        "--import",
        "tsx",
        "--conditions",
        "@heddle/source",
        self,
        "--task",
        task,
        "--steps",
        String(steps),
      ];
      heddle.push(numbersOf(lastLine((await run(process.execPath, started)).stdout)));
    }
    console.log(`\n${task}: CPU-ms, medians of the rounds (${versions}load ${loadavg()[0]?.toFixed(1) ?? "?"})`);
    for (const part of Object.keys(heddle[0] ?? {})) {
      const [our, their] = [medianOf(heddle, part), medianOf(theirs, part)];
      const comparison = `, TRL ${their.toFixed(1)}: Heddle takes ${(our / their).toFixed(2)} of TRL`;
      console.log(`  ${part.padEnd(9)} Heddle ${our.toFixed(1)}${python === undefined ? "" : comparison}`);
    }
  }
}

function numbersOf(values: Record<string, unknown>): Measurements {
  const numbers = Object.entries(values).filter((entry): entry is [string, number] => typeof entry[1] === "number");
  return Object.fromEntries(numbers.filter(([name]) => name !== "weights"));
}

async function sft(): Promise<Measurements> {
  const trainer = await createCpuTrainer({ config, weights: initialWeights(config, 1), memoryBytes, threads: 1 });
  const batches = Array.from({ length: 8 }, (_, batch) =>
    Array.from({ length: 8 }, (_, row): CrossEntropySequence => ({
      tokens: sequence(221, batch * 8 + row),
      mask: new Uint8Array(221).fill(1, 1),
    })),
  );
  const times: number[] = [];
  for (let step = 0; step < warmUp + steps; step++) {
    const sequences = batches[step % batches.length] ?? [];
    const cpu = process.cpuUsage();
    await trainer.forwardBackward({ name: "cross_entropy", sequences, normalizer: 8 * 220 });
    await trainer.optimStep(adam);
    times.push(milliseconds(cpu));
  }
  await trainer.close();
  return { step: median(times.slice(warmUp)) };
}

async function grpo(): Promise<Measurements> {
  const weights = initialWeights(config, 1);
  const trainer = await createCpuTrainer({ config, weights, memoryBytes, threads: 1 });
  const sampler = createCpuSampler({ memoryBytes });
  const { vocabularySize } = config;
  const nothing = new Uint8Array();
  const tokenizer = { vocabularySize, tokenBytes: () => nothing, specialIds: new Set<number>(), eosIds: [] };
  // Weights as inputs: the sampler reads the array that the trainer changes.
  await sampler.addModel("policy", { config, weights, tokenizer, mode: "inputs" });
  const times: { sampling: number; update: number; step: number }[] = [];
  for (let step = 0; step < warmUp + steps; step++) {
    const prompt = sequence(promptTokens, step);
    const cpu = process.cpuUsage();
    const { completions } = await sampler.generate({
      weights: "policy",
      prompt,
      n: groupSize,
      maxTokens: sampledTokens,
      seed: step,
    });
    const sampling = milliseconds(cpu);
    const { advantages } = groupAdvantages(
      completions.map(({ index }) => index % 2),
      true,
    );
    const sequences = completions.map(({ tokens }, index) => rollout(prompt, tokens, advantages[index] ?? 0));
    const normalizer = groupSize * sampledTokens;
    await trainer.forwardBackward({ name: "policy", sequences, normalizer, settings: policy });
    await trainer.optimStep(adam);
    const whole = milliseconds(cpu);
    times.push({ sampling, update: whole - sampling, step: whole });
  }
  await sampler.close();
  await trainer.close();
  const of = (part: "sampling" | "update" | "step") => median(times.slice(warmUp).map((each) => each[part]));
  return { sampling: of("sampling"), update: of("update"), step: of("step") };
}

function rollout(prompt: Int32Array, sampled: { token: number; logprob: number }[], advantage: number): PolicySequence {
  const length = prompt.length + sampled.length;
  const tokens = new Int32Array(length);
  tokens.set(prompt);
  tokens.set(
    sampled.map(({ token }) => token),
    prompt.length,
  );
  const oldLogprobs = new Float64Array(length).fill(NaN);
  oldLogprobs.set(
    sampled.map(({ logprob }) => logprob),
    prompt.length,
  );
  return {
    tokens,
    mask: new Uint8Array(length).fill(1, prompt.length),
    weights: new Float64Array(length).fill(1),
    advantages: new Float64Array(length).fill(advantage),
    oldLogprobs,
  };
}

/** The same as in `train.py`. */
function sequence(length: number, seed: number): Int32Array {
  let token = seed;
  return Int32Array.from({ length }, () => (token = (token * 7 + 3) % (config.vocabularySize - 3)) + 3);
}

function medianOf(all: Measurements[], part: string): number {
  return median(all.map((measurements) => measurements[part] ?? NaN));
}

function milliseconds(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}
