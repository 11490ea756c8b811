/**
 * What kept prompts save: the time to the first token of a prompt and of the same prompt again, and of each turn of a
 * conversation, with and without them. Over the embedded engine, without HTTP.
 *
 *   npx tsx -C @heddle/source packages/service/bench/prompts.ts [--tokens 700] [--rounds 5]
 */
import { openEmbeddedEngine } from "@heddle/embedded-engine";
import type { TrainingEngine } from "@heddle/training";
import { describeMachine, median, option } from "./results.js";

const promptTokens = option("tokens", 700);
const rounds = option("rounds", 5);
const turns = 10;
const baseModel = "random:medium";
let drawn = 0;

/** Tokens that no prompt before had in this order. */
function fresh(count: number): number[] {
  const seed = ++drawn;
  return Array.from({ length: count }, (_, at) => (seed * 7919 + at * at * 31 + at * seed) % 1000);
}

async function milliseconds(engine: TrainingEngine, prompt: number[]): Promise<number> {
  const started = performance.now();
  const sharer = { key: "a key", entity: "an entity" };
  await engine.sampler.generate({
    weights: { baseModel },
    prompt: Int32Array.from(prompt),
    n: 1,
    maxTokens: 1,
    seed: 1,
    sharer,
  });
  return performance.now() - started;
}

async function measure(promptCacheBytes?: number) {
  const engine = await openEmbeddedEngine({ models: {}, memoryBytes: 2 ** 31, promptCacheBytes });
  try {
    await milliseconds(engine, fresh(promptTokens));
    const [first, repeated]: number[][] = [[], []];
    const conversation: number[][] = Array.from({ length: turns }, () => []);
    for (let round = 0; round < rounds; round++) {
      const prompt = fresh(promptTokens);
      first!.push(await milliseconds(engine, prompt));
      repeated!.push(await milliseconds(engine, prompt));
      const said: number[] = [];
      for (const times of conversation) {
        said.push(...fresh(Math.floor(promptTokens / turns)));
        times.push(await milliseconds(engine, said));
      }
    }
    return {
      first: median(first!),
      repeated: median(repeated!),
      conversation: conversation.map((each) => median(each)),
    };
  } finally {
    await engine.close();
  }
}

console.log(describeMachine());
console.log(`${baseModel}, a prompt of ${promptTokens} tokens; medians of ${rounds} rounds, in ms`);
for (const [name, bytes] of [
  ["kept", undefined],
  ["not kept", 0],
] as const) {
  const { first, repeated, conversation } = await measure(bytes);
  const share = ((100 * repeated) / first).toFixed(1);
  console.log(`${name}: first ${first.toFixed(1)}, again ${repeated.toFixed(1)} (${share} %)`);
  console.log(`  ${turns} turns: ${conversation.map((each) => each.toFixed(1)).join(", ")}`);
}
