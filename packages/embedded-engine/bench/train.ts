/**
 * Speed and memory of training, compared with the matrix product measured in the same run.
 *
 *   node --import tsx -C @heddle/source packages/embedded-engine/bench/train.ts [--steps 20]
 *
 * With PROTOTYPE set to a directory with a `trainer.mjs` that exports a `createTrainer` of the type below, its steps
 * alternate with the current ones. Times are CPU times of the process, which other load affects least.
 */
import { pathToFileURL } from "node:url";
import { Graph } from "../src/graph/onnx.js";
import { openSession, tensor } from "../src/session.js";
import { emptyGradients } from "../src/trainer/gradients.js";
import type { ForwardMode } from "../src/trainer/network.js";
import { openNetwork } from "../src/trainer/network.js";
import { createCpuTrainer } from "../src/trainer/trainer.js";
import type { ModelConfig } from "../src/model/config.js";
import { modelParameters, parameterCount } from "../src/model/parameters.js";
import type { TokenSequence } from "@heddle/training";
import { initialWeights } from "../src/weights/initial-weights.js";
import { llama, llamaShapes } from "./llama.js";
import { median } from "./median.js";

const stepsOption = process.argv.indexOf("--steps");
const steps = stepsOption === -1 ? 20 : Number(process.argv[stepsOption + 1]);
const memoryBytes = 2 ** 32;
const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, maxGradientNorm: 1 };

interface Timed {
  cpu: number;
  wall: number;
}
type Work = () => Promise<void>;

const shapeA = llama(llamaShapes.A);
const shapeC = llama(llamaShapes.C);

console.log(`one thread, ${steps} steps each, medians`);
await benchPretraining("A", shapeA);
await benchPretraining("C", shapeC);
await benchThreads("C", shapeC);
console.log(`peak resident memory ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB`);

async function benchPretraining(name: string, config: ModelConfig): Promise<void> {
  const rows = 8;
  const time = 128;
  const tokens = rows * time;
  const weights = initialWeights(config, 1);
  const sequences = Array.from({ length: rows }, (_, row) => drawn(config, time + 1, row));
  const trainer = await createCpuTrainer({ config, weights, memoryBytes, threads: 1 });
  const works: Record<string, Work> = {
    async step() {
      await trainer.forwardBackward({ name: "cross_entropy", sequences, normalizer: tokens });
      await trainer.optimStep(adam);
    },
    kept: await gradientWork(config, sequences, time, { lowMemory: false }),
    recomputed: await gradientWork(config, sequences, time, { lowMemory: true }),
  };
  const prototype = await prototypeStep(config, sequences, rows, time);
  if (prototype) works["prototype"] = prototype;
  const products = await matrixProducts(tokens, config);
  for (const [shape, { run }] of Object.entries(products)) works[shape] = run;

  const times = await alternately(works);
  const of = (work: string): Timed => times[work] ?? { cpu: NaN, wall: NaN };
  const peak = Math.max(...Object.entries(products).map(([shape, { operations }]) => operations / of(shape).cpu / 1e6));
  const matrices = operationsPerPass(config, rows, time);
  const parameters = parameterCount(modelParameters(config));
  const speed = (work: string) =>
    `${(tokens / of(work).wall).toFixed(2)}k tok/s, ${of(work).cpu.toFixed(1)} CPU-ms (${((tokens / of(work).cpu) * 1000).toFixed(0)} tok per CPU-s)`;
  const share = (work: string, passes: number) =>
    `${((100 * matrices * passes) / of(work).cpu / 1e6 / peak).toFixed(0)} %`;
  console.log(`\n${name}: ${(parameters / 1e6).toFixed(2)} M weights, ${tokens} tokens a step`);
  console.log(
    `  training step with Adam: ${speed("step")}, ${share("step", 3)} of the f32 matmul peak of ${peak.toFixed(0)} GFLOP/s`,
  );
  console.log(`  gradient only, values kept: ${speed("kept")}, ${share("kept", 3)} of peak`);
  console.log(
    `  gradient alone, recomputed: ${speed("recomputed")}, ${share("recomputed", 3)} of peak, ${share("recomputed", 4)} with the recomputation counted`,
  );
  if (prototype) {
    console.log(`  prototype's step: ${speed("prototype")}`);
    console.log(`  the current one takes ${(of("step").cpu / of("prototype").cpu).toFixed(3)} of its CPU time`);
  }
  await trainer.close();
}

async function benchThreads(name: string, config: ModelConfig): Promise<void> {
  const sequences = Array.from({ length: 16 }, (_, row) => drawn(config, 129, row));
  const works: Record<string, Work> = {};
  const close: (() => Promise<void>)[] = [];
  for (const threads of [1, 2]) {
    const trainer = await createCpuTrainer({ config, weights: initialWeights(config, 1), memoryBytes, threads });
    works[String(threads)] = async () => {
      await trainer.forwardBackward({ name: "cross_entropy", sequences, normalizer: 2048 });
      await trainer.optimStep(adam);
    };
    close.push(trainer.close);
  }
  const times = await alternately(works);
  const wall = (threads: string) => times[threads]?.wall ?? NaN;
  const cpu = (threads: string) => times[threads]?.cpu ?? NaN;
  console.log(
    `\n${name}, 2048 tokens a step: 1 thread ${wall("1").toFixed(0)} ms, 2 threads ${wall("2").toFixed(0)} ms of wall time: ${(wall("1") / wall("2")).toFixed(2)} times, with ${(cpu("2") / cpu("1")).toFixed(2)} of the CPU time`,
  );
  for (const each of close) await each();
}

/** Forward and backward passes without Adam. */
async function gradientWork(
  config: ModelConfig,
  sequences: TokenSequence[],
  time: number,
  { lowMemory }: Pick<ForwardMode, "lowMemory">,
): Promise<Work> {
  const weights = initialWeights(config, 1);
  const network = await openNetwork({ config, weights, headRows: 4096 });
  const gradients = emptyGradients(weights.parameters);
  const count = sequences.length * time;
  const rowsOf = (shift: number) => {
    const all = new Int32Array(count);
    sequences.forEach(({ tokens }, row) => all.set(tokens.subarray(shift, time + shift), row * time));
    return all;
  };
  const batch = { tokens: rowsOf(0), rows: sequences.length, time };
  const head = { positions: Int32Array.from({ length: count }, (_, i) => i), targets: rowsOf(1) };
  const coefficients = new Float32Array(count).fill(-1 / count);
  return async () => {
    gradients.clear();
    await network.backward(await network.forward(batch, { gradient: true, lowMemory }), head, coefficients, gradients);
  };
}

/** Matrix products of the shapes of training, and a large square one. */
async function matrixProducts(
  rows: number,
  { hiddenSize, feedForwardSize }: ModelConfig,
): Promise<Record<string, { operations: number; run: Work }>> {
  const products: Record<string, { operations: number; run: Work }> = {};
  const shapes = [
    [rows, hiddenSize, 2 * feedForwardSize],
    [rows, feedForwardSize, hiddenSize],
    [768, 768, 768],
  ] as const;
  for (const [m, k, n] of shapes) {
    const graph = new Graph();
    const product = graph.op("MatMul", [graph.input("a", [m, k]), graph.input("b", [k, n])]);
    // The graph outputs one number, so that no copy of the product is measured.
    graph.output("y", graph.op("ReduceMax", [product], { keepdims: 0 }), []);
    const session = await openSession(graph.build(), { threads: 1 });
    const filled = (length: number) => Float32Array.from({ length }, (_, i) => (i % 7) - 3);
    const feeds = { a: tensor("float32", filled(m * k), [m, k]), b: tensor("float32", filled(k * n), [k, n]) };
    const repeats = Math.ceil(2e9 / (2 * m * k * n));
    products[`product ${m} x ${k} x ${n}`] = {
      operations: 2 * m * k * n * repeats,
      async run() {
        for (let i = 0; i < repeats; i++) await session.run(feeds);
      },
    };
  }
  return products;
}

/** Multiplications and additions of one forward pass; the backward pass has twice as many. */
function operationsPerPass(config: ModelConfig, rows: number, time: number): number {
  const matrices = modelParameters(config)
    .filter(({ shape }) => shape.length === 2)
    .reduce((sum, { size }) => sum + size, 0);
  const attention = 2 * config.layers * config.heads * config.headSize * time;
  return 2 * rows * time * (matrices + attention);
}

async function prototypeStep(
  { hiddenSize: d, layers: L, heads: H, feedForwardSize: f, vocabularySize: V, normEpsilon: eps }: ModelConfig,
  sequences: TokenSequence[],
  B: number,
  T: number,
): Promise<Work | undefined> {
  const directory = process.env["PROTOTYPE"];
  if (directory === undefined) return undefined;
  const prototype = (await import(pathToFileURL(`${directory}/trainer.mjs`).href)) as {
    createTrainer(shape: Record<string, number | boolean>): Promise<Prototype>;
  };
  const theirs = await prototype.createTrainer({ d, L, H, f, V, B, T, eps, save: true });
  sequences.forEach(({ tokens }, row) => {
    theirs.tok.set(tokens.subarray(0, T), row * T);
    theirs.tgt.set(tokens.subarray(1), row * T);
  });
  return async () => {
    await theirs.forward();
    theirs.coef.fill(-1 / (B * T));
    await theirs.backward();
    theirs.adam(1e-3);
  };
}

interface Prototype {
  tok: Int32Array;
  tgt: Int32Array;
  coef: Float32Array;
  forward(): Promise<unknown>;
  backward(): Promise<unknown>;
  adam(rate: number): void;
}

/** Returns medians. The tasks alternate, so that other load affects all of them. */
async function alternately(works: Record<string, Work>): Promise<Record<string, Timed>> {
  const taken: Record<string, Timed[]> = Object.fromEntries(Object.keys(works).map((name) => [name, []]));
  for (let step = -3; step < steps; step++) {
    // Each is first in one rotation, because the previous task affects the caches.
    const order = Object.entries(works);
    order.push(...order.splice(0, (step + 3) % order.length));
    for (const [name, work] of order) {
      const cpu = process.cpuUsage();
      const start = performance.now();
      await work();
      const wall = performance.now() - start;
      const { user, system } = process.cpuUsage(cpu);
      if (step >= 0) taken[name]?.push({ cpu: (user + system) / 1000, wall });
    }
  }
  return Object.fromEntries(
    Object.entries(taken).map(([name, all]) => [
      name,
      { cpu: median(all.map(({ cpu }) => cpu)), wall: median(all.map(({ wall }) => wall)) },
    ]),
  );
}

function drawn({ vocabularySize }: ModelConfig, length: number, seed: number): TokenSequence {
  let token = seed;
  const tokens = Int32Array.from({ length }, () => (token = (token * 7 + 3) % vocabularySize));
  return { tokens, mask: new Uint8Array(length).fill(1, 1) };
}
