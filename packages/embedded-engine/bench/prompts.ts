/**
 * Time until the first token of a prompt that the in-process sampler has read before, and of a conversation that grows by a question and
 * an answer each turn, from a model with the shape of Qwen2.5-0.5B and random weights; with kept prompts and without.
 *
 *   node --import tsx -C @heddle/source packages/embedded-engine/bench/prompts.ts [--prompt 2106] [--rounds 3] [--turns 10] [--layers 24] [--threads 2]
 */
import { cpus, loadavg } from "node:os";
import { createCpuSampler } from "../src/decode/cpu-sampler.js";
import { initialWeights } from "../src/weights/initial-weights.js";
import { halfBillion } from "./half-billion.js";
import { median } from "./median.js";
import { option } from "./option.js";

const [promptTokens, rounds, turns] = [
  Number(option("prompt") ?? 2106),
  Number(option("rounds") ?? 3),
  Number(option("turns") ?? 10),
];
/** Of each turn. */
const [questionTokens, answerTokens] = [100, 16];
const config = { ...halfBillion(Number(option("layers") ?? 24)), contextLength: 4096 };
const nothing = new Uint8Array();
const { vocabularySize } = config;
const tokenizer = { vocabularySize, tokenBytes: () => nothing, specialIds: new Set<number>(), eosIds: [] };

async function open(promptCacheBytes?: number) {
  const sampler = createCpuSampler({ memoryBytes: 2 ** 32, promptCacheBytes, threads: Number(option("threads") ?? 2) });
  await sampler.addModel("model", { config, weights: initialWeights(config, 1), tokenizer });
  return {
    async seconds(prompt: Int32Array, maxTokens = 1) {
      const began = performance.now();
      const { completions } = await sampler.generate({ weights: "model", prompt, n: 1, maxTokens, seed: 1 });
      return { seconds: (performance.now() - began) / 1000, tokens: completions[0]?.tokens ?? [] };
    },
    close: () => sampler.close(),
  };
}

const text = (length: number, seed: number) => Int32Array.from({ length }, (_, i) => (seed * 7919 + i * 31) % 100_000);
const said = (seconds: number) => seconds.toFixed(2);
console.log(`${config.layers} layers, ${cpus()[0]?.model ?? "unknown processor"}, Node ${process.version}`);

const kept = await open();
const [first, again]: [number[], number[]] = [[], []];
for (let round = 0; round < rounds; round++) {
  const prompt = text(promptTokens, round);
  first.push((await kept.seconds(prompt)).seconds);
  again.push((await kept.seconds(prompt)).seconds);
}
const [before, after] = [median(first), median(again)];
console.log(
  `${promptTokens} tokens: ${said(before)} s, again ${after.toFixed(3)} s (${((100 * after) / before).toFixed(1)} %), load ${loadavg()[0]?.toFixed(1)}`,
);

/** Seconds of each turn. */
async function conversation(sampler: Awaited<ReturnType<typeof open>>): Promise<number[]> {
  let all = text(questionTokens, 100);
  const times: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const answer = await sampler.seconds(all, answerTokens);
    times.push(answer.seconds);
    all = Int32Array.from([...all, ...answer.tokens.map(({ token }) => token), ...text(questionTokens, 101 + turn)]);
  }
  return times;
}
const describe = (name: string, times: number[]) =>
  console.log(
    `${turns} turns ${name}: ${times.map(said).join(", ")} s, together ${said(times.reduce((sum, each) => sum + each, 0))} s`,
  );
describe("with kept prompts", await conversation(kept));
await kept.close();
const without = await open(0);
describe("without", await conversation(without));
await without.close();
