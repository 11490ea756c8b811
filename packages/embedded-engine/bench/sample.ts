/**
 * Tokens per second of the in-process sampler, from a context of 16 tokens to 128, eight completions to a prompt.
 *
 *   npx -y pnpm@10.34.9 exec tsx -C @heddle/source packages/embedded-engine/bench/sample.ts [--rounds 7] [--shapes A,C] [--rows 1,8,64]
 *
 * With PROTOTYPE=<directory of an earlier sampler, with onnxruntime-node in its folder `ort`>, that sampler alternates
 * with the current one in the same process; the ratio is current to earlier. CPU time is less affected by other load
 * than elapsed time.
 */
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import type { CpuSampler } from "../src/decode/cpu-sampler.js";
import { createCpuSampler } from "../src/decode/cpu-sampler.js";
import { initialWeights } from "../src/weights/initial-weights.js";
import type { LlamaShape } from "./llama.js";
import { llama, llamaShapes } from "./llama.js";
import { median } from "./median.js";
import { option } from "./option.js";

const shapes: Readonly<Record<string, LlamaShape>> = llamaShapes;
const [promptTokens, sampledTokens, perPrompt] = [16, 112, 8];

/** Samples `rows` completions of the maximum length. Returns the number of tokens. */
type Round = (round: number) => Promise<number>;
interface Measurements {
  wall: number[];
  cpu: number[];
}

const rounds = Number(option("rounds") ?? 7);

async function currentSampler(shape: LlamaShape, rows: number): Promise<{ round: Round; sampler: CpuSampler }> {
  const config = llama(shape, 1024);
  const sampler = createCpuSampler({ memoryBytes: 2 ** 32 });
  const nothing = new Uint8Array();
  const { vocabularySize } = config;
  const tokenizer = { vocabularySize, tokenBytes: () => nothing, specialIds: new Set<number>(), eosIds: [] };
  await sampler.addModel("model", { config, weights: initialWeights(config, 1), tokenizer });
  const n = Math.min(rows, perPrompt);
  const round = async (seed: number) => {
    const results = await Promise.all(
      Array.from({ length: rows / n }, (_, group) => {
        const prompt = Int32Array.from(
          { length: promptTokens },
          (_, i) => (seed * 31 + group * 17 + i * 7) % vocabularySize,
        );
        return sampler.generate({ weights: "model", prompt, n, maxTokens: sampledTokens, seed: seed * 100 + group });
      }),
    );
    return results.flatMap(({ completions }) => completions).reduce((sum, { tokens }) => sum + tokens.length, 0);
  };
  return { round, sampler };
}

/** Opens the sampler of the prototype. */
interface Prototype {
  createSplit(shape: object, weights: object, options: object): Promise<PrototypeSampler>;
  randomWeights(shape: object, seed: number): object;
  sampleProbs(
    rows: Float32Array,
    count: number,
    size: number,
    uniform: Float64Array,
    tokens: Int32Array,
    out: Float32Array,
  ): void;
}
interface PrototypeSampler {
  tok: Int32Array;
  prefill(prompts: number[][], sources: number[]): Promise<Float32Array>;
  step(): Promise<Float32Array>;
}

async function theirs(
  directory: string,
  { vocabularySize: V, hiddenSize: d, layers: L, heads: H, feedForwardSize: f }: LlamaShape,
  rows: number,
): Promise<Round> {
  const load = (file: string): Promise<Partial<Prototype>> =>
    import(pathToFileURL(join(directory, "sampling", file)).href) as Promise<Partial<Prototype>>;
  const { createSplit, randomWeights, sampleProbs } = { ...(await load("sampler.mjs")), ...(await load("split.mjs")) };
  if (!createSplit || !randomWeights || !sampleProbs) throw new Error(`${directory} is not the prototype`);
  const shape = { d, L, H, f, V, eps: 1e-6 };
  const sampler = await createSplit(shape, randomWeights(shape, 1), { R: rows, init: true });
  const group = Math.min(rows, perPrompt);
  const sources = Array.from({ length: rows }, (_, row) => Math.floor(row / group));
  const uniform = new Float64Array(rows);
  const logprobs = new Float32Array(rows);
  return async (seed) => {
    const prompts = Array.from({ length: rows / group }, (_, at) =>
      Array.from({ length: promptTokens }, (_, i) => (seed * 31 + at * 17 + i * 7) % V),
    );
    const first = await sampler.prefill(prompts, sources);
    let probabilities: Float32Array = new Float32Array(rows * V);
    sources.forEach((source, row) => probabilities.set(first.subarray(source * V, (source + 1) * V), row * V));
    for (let step = 0; step < sampledTokens; step++) {
      uniform.forEach((_, row) => (uniform[row] = Math.random()));
      sampleProbs(probabilities, rows, V, uniform, sampler.tok, logprobs);
      probabilities = await sampler.step();
    }
    return rows * sampledTokens;
  };
}

async function measure(round: Round, index: number, measurements: Measurements): Promise<void> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const tokens = await round(index);
  const wall = (performance.now() - start) / 1000;
  const used = process.cpuUsage(cpu);
  if (index === 0) return;
  measurements.wall.push(tokens / wall);
  measurements.cpu.push((tokens * 1e6) / (used.user + used.system));
}

const measurement = (value: number) => Math.round(value).toLocaleString("en").padStart(8);
const describe = ({ wall, cpu }: Measurements) =>
  `${measurement(median(wall))} tok/s ${measurement(median(cpu))} tok/CPU-s`;

const prototype = process.env["PROTOTYPE"];
for (const name of (option("shapes") ?? "A,C").split(",")) {
  const shape = shapes[name];
  if (!shape) throw new Error(`no shape ${name}`);
  for (const rows of (option("rows") ?? "1,8,64").split(",").map(Number)) {
    const { round, sampler } = await currentSampler(shape, rows);
    const earlier = prototype === undefined ? undefined : await theirs(prototype, shape, rows);
    const [own, other]: Measurements[] = [
      { wall: [], cpu: [] },
      { wall: [], cpu: [] },
    ];
    for (let index = 0; index <= rounds; index++) {
      await measure(round, index, own!);
      if (earlier) await measure(earlier, index, other!);
    }
    await sampler.close();
    const ratio = earlier
      ? `   prototype ${describe(other!)}   ratio ${(median(own!.wall) / median(other!.wall)).toFixed(2)}, of CPU ${(median(own!.cpu) / median(other!.cpu)).toFixed(2)}`
      : "";
    console.log(`${name} ${String(rows).padStart(2)} rows ${describe(own!)}${ratio}`);
  }
}
