import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { OpenEngine } from "../test/embedded-engine.js";
import { adam, ask, isRunning, lesson, openEngine, sequences, tiny } from "../test/embedded-engine.js";
import type { Completion, PolicySequence, Sampler, Trainer, WeightsRef } from "@heddle/training";

// Training runs at a lower priority than other processes.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let open: OpenEngine;
let trainer: Trainer;
let sampler: Sampler;
let trained: WeightsRef;

beforeAll(async () => {
  open = await openEngine({ trainingProcesses: 2 });
  ({ sampler } = open.engine);
  trainer = await open.engine.openTrainer({ weights: tiny, seed: 1 });
  for (let step = 0; step < 2; step++) {
    await trainer.forwardBackward(lesson(4, 24));
    await trainer.optimStep(adam);
  }
  trained = await trainer.saveState(join(open.directory, "trained"));
});
afterAll(() => open.close());

/** The sampled tokens after their prompt, with the log-probabilities that the sampler reported. */
function sampled(
  { tokens }: Completion,
  prompt: Int32Array,
): { tokens: Int32Array; mask: Uint8Array; logprobs: number[] } {
  return {
    tokens: Int32Array.from([...prompt, ...tokens.map(({ token }) => token)]),
    mask: Uint8Array.from([...prompt.map(() => 0), ...tokens.map(() => 1)]),
    logprobs: [...prompt.map(() => Number.NaN), ...tokens.map(({ logprob }) => logprob)],
  };
}

async function largestDifference(trainer: Trainer, completions: Completion[], prompt: Int32Array): Promise<number> {
  const samples = completions.map((completion) => sampled(completion, prompt));
  const logprobs = await trainer.logprobs(samples);
  const differences = samples.flatMap((sample, i) =>
    [...sample.mask.keys()]
      .filter((at) => sample.mask[at] === 1)
      .map((at) => {
        return Math.abs((logprobs[i]?.[at] ?? Number.NaN) - (sample.logprobs[at] ?? Number.NaN));
      }),
  );
  expect(differences).toHaveLength(samples.reduce((sum, { mask }) => sum + mask.reduce((a, b) => a + b, 0), 0));
  return Math.max(...differences);
}

function digest(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

describe("training and sampling in separate processes", () => {
  it("agree on the log-probabilities of what was sampled from a saved checkpoint", async () => {
    const request = ask({ weights: trained });
    const { completions } = await sampler.generate(request);
    expect(completions.map(({ tokens }) => tokens.length)).toEqual([12, 12]);
    expect(await largestDifference(trainer, completions, request.prompt)).toBeLessThan(1e-4);
    // The checkpoint differs from its base.
    const fromBase = await sampler.generate(ask());
    expect(await largestDifference(trainer, fromBase.completions, request.prompt)).toBeGreaterThan(1e-2);
  });

  it("agree on an adapter, which keeps its shape", async () => {
    const adapter = { rank: 4, alpha: 8, targets: ["q" as const, "v" as const, "down" as const] };
    const first = await open.engine.openTrainer({ weights: tiny, adapter, seed: 5 });
    await first.forwardBackward(lesson(4, 24));
    await first.optimStep(adam);
    const saved = await first.saveState(join(open.directory, "adapter"));
    await first.close();
    const { digest, ...unnamed } = saved;
    expect(digest).toBe(await open.engine.weightsDigest(unnamed));
    const second = await open.engine.openTrainer({ weights: saved, seed: 5 });
    expect(second.adapter).toEqual({ ...adapter, targets: expect.arrayContaining(adapter.targets) });
    expect(trainer.adapter).toBeUndefined();
    await second.forwardBackward(lesson(4, 24));
    await expect(second.optimStep(adam)).resolves.toMatchObject({ steps: 2 });
    const again = await second.exportWeights(join(open.directory, "adapter-2"));
    const request = ask({ weights: again });
    const { completions } = await sampler.generate(request);
    expect(await largestDifference(second, completions, request.prompt)).toBeLessThan(1e-4);
    expect(JSON.parse(readFileSync(join(open.directory, "adapter-2", "adapter_config.json"), "utf8"))).toMatchObject({
      r: 4,
      lora_alpha: 8,
    });
    const rounded = join(open.directory, "adapter-bf16");
    const refused = second.exportWeights(rounded, { state: true, format: "bf16" });
    await expect(refused).rejects.toMatchObject({ code: "invalid", loc: ["options", "format"] });
    const exported = await second.exportWeights(rounded, { format: "bf16" });
    const sampledAgain = await sampler.generate(ask({ weights: exported }));
    expect(await largestDifference(second, sampledAgain.completions, request.prompt)).toBeLessThan(0.1);
    await second.close();
  });

  it("stream every token and return the complete result at the end", async () => {
    const streamed: number[][] = [[], []];
    const { completions } = await sampler.generate(ask(), {
      onChunk: ({ index, tokens }) => streamed[index]?.push(...tokens.map(({ token }) => token)),
    });
    expect(streamed).toEqual(completions.map(({ tokens }) => tokens.map(({ token }) => token)));
  });

  it("constrain a completion to a structure", async () => {
    const structuredOutput = { type: "choice" as const, choices: ["maybe", "yes"] };
    const { completions } = await sampler.generate(ask({ structuredOutput, ignoreEos: false, maxTokens: 24 }));
    for (const { text } of completions) expect(["maybe", "yes"]).toContain(text);
  });

  it("report the progress of a call", async () => {
    const progress: number[] = [];
    const { logprobs } = await trainer.forwardBackward(lesson(6, 24), {
      onProgress: (tokens) => progress.push(tokens),
    });
    expect(logprobs).toHaveLength(6);
    expect(progress.at(-1)).toBe(6 * 20);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
  });
});

describe("five steps of reinforcement learning", () => {
  /** Samples, rewards tokens with an even number, learns, saves: all of it through the port. */
  async function learn(trainer: Trainer, name: string, from: WeightsRef, steps: number[]): Promise<WeightsRef> {
    let weights = from;
    for (const step of steps) {
      const request = ask({ weights, n: 4, maxTokens: 8, seed: 100 + step });
      const { completions } = await sampler.generate(request);
      const policy = completions.map((completion): PolicySequence => {
        const { tokens, mask, logprobs } = sampled(completion, request.prompt);
        const reward = completion.tokens.filter(({ token }) => token % 2 === 0).length / 8 - 0.5;
        return {
          tokens,
          mask,
          oldLogprobs: Float64Array.from(logprobs),
          weights: new Float64Array(tokens.length).fill(1),
          advantages: new Float64Array(tokens.length).fill(reward),
        };
      });
      await trainer.forwardBackward({
        name: "policy",
        sequences: policy,
        settings: { ppo: false, epsilon: 1, epsilonHigh: 4, importanceSamplingLevel: "token", maskProbRatio: false },
        normalizer: 32,
      });
      await trainer.optimStep(adam);
      weights = await trainer.exportWeights(join(open.directory, `${name}-${step}`), { state: true });
    }
    return weights;
  }

  it("are bitwise reproducible in other processes, also after resuming", async () => {
    const bits = ({ checkpoint = "" }: WeightsRef) =>
      ["model", "optimizer"].map((file) => digest(join(checkpoint, `${file}.safetensors`)));
    const run = async (name: string, from: WeightsRef, steps: number[]): Promise<string[]> => {
      const trainer = await open.engine.openTrainer({ weights: from, seed: 3 });
      const end = await learn(trainer, name, from, steps);
      await trainer.close();
      return bits(end);
    };
    const whole = await run("a", tiny, [0, 1, 2, 3, 4]);
    expect(await run("b", tiny, [0, 1, 2, 3, 4])).toEqual(whole);
    expect(await run("c", { ...tiny, checkpoint: join(open.directory, "a-1") }, [2, 3, 4])).toEqual(whole);
  });
});

describe("several at once", () => {
  it("two trainers and the sampler run concurrently; a third is rejected until one is closed", async () => {
    const second = await open.engine.openTrainer({ weights: tiny, seed: 1 });
    const pid = open.pids("training").at(-1) ?? 0;
    await expect(open.engine.openTrainer({ weights: tiny, seed: 1 })).rejects.toMatchObject({ code: "busy" });
    const [one, two, { completions }] = await Promise.all([
      trainer.logprobs(sequences(4, 32)),
      second.logprobs(sequences(4, 32)),
      sampler.generate(ask({ n: 4 })),
    ]);
    expect([one.length, two.length, completions.length]).toEqual([4, 4, 4]);
    expect(one).not.toEqual(two);
    // Sampling has priority over training.
    expect(getPriority(pid)).toBeGreaterThan(getPriority(open.pids("sampling")[0]));
    expect(isRunning(pid)).toBe(true);
    await second.close();
    expect(isRunning(pid)).toBe(false);
    await expect(second.logprobs(sequences(1, 8))).rejects.toMatchObject({ code: "aborted" });
    const third = new AbortController();
    const opened = open.engine.openTrainer({ weights: tiny, seed: 1 }, third.signal);
    third.abort();
    await expect(opened).rejects.toMatchObject({ code: "aborted" });
  });

  it("requests that are made together are bitwise reproducible", async () => {
    const together = () =>
      Promise.all([1, 2, 3, 4].map((seed) => sampler.generate(ask({ seed, prompt: Int32Array.of(310 + seed, 320) }))));
    expect(await together()).toEqual(await together());
  });

  it("requests on replaced weights finish on the weights they started with", async () => {
    const alone = await sampler.generate(ask({ weights: trained, maxTokens: 200, n: 1 }));
    let swapped: Promise<unknown> | undefined;
    const running = await sampler.generate(ask({ weights: trained, maxTokens: 200, n: 1 }), {
      onChunk() {
        swapped ??= Promise.all([sampler.unload(trained), sampler.preload(trained)]);
      },
    });
    await swapped;
    expect(running.completions[0]?.tokens.length).toBe(200);
    expect(running.completions).toEqual(alone.completions);
  });
});

describe("an invalid request", () => {
  it("is rejected with the reason and changes nothing", async () => {
    const { engine, directory } = open;
    await expect(engine.openTrainer({ weights: { baseModel: "random:huge" }, seed: 1 })).rejects.toMatchObject({
      code: "not_found",
    });
    const missing = { ...tiny, checkpoint: join(directory, "nowhere") };
    await expect(engine.openTrainer({ weights: missing, seed: 1 })).rejects.toMatchObject({ code: "not_found" });
    await expect(sampler.generate(ask({ weights: missing }))).rejects.toMatchObject({ code: "not_found" });
    await expect(sampler.preload(missing)).rejects.toMatchObject({ code: "not_found" });
    await expect(sampler.generate(ask({ prompt: Int32Array.of(-1) }))).rejects.toMatchObject({ code: "invalid" });
    await expect(trainer.exportWeights(join(directory, "trained"))).rejects.toMatchObject({ code: "conflict" });
    const [{ tokens, mask } = { tokens: new Int32Array(), mask: new Uint8Array() }] = sequences(1, 8);
    tokens[3] = 1_000_000;
    await expect(trainer.logprobs([{ tokens, mask }])).rejects.toMatchObject({
      code: "invalid",
      loc: ["sequences", 0, "tokens", 3],
    });
    const givenAway = Int32Array.of(1, 2);
    structuredClone(givenAway.buffer, { transfer: [givenAway.buffer] });
    await expect(sampler.generate(ask({ prompt: givenAway }))).rejects.toMatchObject({ code: "invalid" });
    await expect(sampler.generate(ask())).resolves.toMatchObject({ completions: [{ index: 0 }, { index: 1 }] });
  });

  it("ends soon after it was aborted", async () => {
    const training = new AbortController();
    const call = trainer.forwardBackward(lesson(400, 200), {
      signal: training.signal,
      onProgress: () => training.abort(),
    });
    await expect(call).rejects.toMatchObject({ code: "aborted" });
    const sampling = new AbortController();
    const completion = sampler.generate(ask({ maxTokens: 900 }), {
      signal: sampling.signal,
      onChunk: () => sampling.abort(),
    });
    await expect(completion).rejects.toMatchObject({ code: "aborted" });
    expect(await trainer.logprobs(sequences(1, 8))).toHaveLength(1);
  });
});

it("no process has logged a warning", () => {
  // Such as of listeners that accumulate with every request and keep its weights in memory.
  expect(open.log.filter((line) => !/ process (?:started|was closed) \(\d+\)$/u.test(line))).toEqual([]);
});
