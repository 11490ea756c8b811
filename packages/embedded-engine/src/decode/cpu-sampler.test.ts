import { loraTargets } from "@heddle/training";
import type { SamplingResult } from "../sampling/sampling-request.js";
import type { CompletionChunk, LoraConfig, SampledToken } from "@heddle/training";
import { expect, test } from "vitest";
import { inFloat64 } from "../../test/float64-model.js";
import { float64Distribution, requestOf, serveSmallModel } from "../../test/served-model.js";
import { randomSet, randomWeights, smallModels } from "../../test/small-models.js";
import { adapterParameters } from "../model/parameters.js";
import { openConstraints } from "@heddle/structured-outputs";
import { createCpuTrainer } from "../trainer/trainer.js";

const ids = (tokens: readonly SampledToken[]) => tokens.map(({ token }) => token);
const indexOfMost = (row: readonly number[]) => row.indexOf(Math.max(...row));

test.each(Object.entries(smallModels))(
  "greedy tokens of %s are the likeliest ones step by step",
  async (_name, config) => {
    const { sampler, weights } = await serveSmallModel({ config });
    const prompts = [[5], [1, 2, 3], [7, 7, 30, 4, 9]];
    const results = await Promise.all(
      prompts.map((prompt) =>
        sampler.generate(requestOf({ prompt: Int32Array.from(prompt), temperature: 0, maxTokens: 10 })),
      ),
    );
    results.forEach(({ completions }, i) => {
      const sampled = completions[0]!.tokens;
      const rows = float64Distribution(inFloat64(config, weights), [...prompts[i]!, ...ids(sampled)]).slice(
        prompts[i]!.length - 1,
      );
      sampled.forEach(({ token, logprob }, step) => {
        expect(token).toBe(indexOfMost(rows[step]!));
        expect(logprob).toBeCloseTo(rows[step]![token]!, 5);
      });
    });
    await sampler.close();
  },
);

test("log-probabilities of sampled tokens are those the trainer computes", async () => {
  for (const config of [smallModels.qwen2, smallModels.qwen3]) {
    const { sampler, weights } = await serveSmallModel({ config });
    const trainer = await createCpuTrainer({ config, weights, memoryBytes: 2 ** 30, threads: 1 });
    const requests = [4, 3, 1].map((n, i) =>
      requestOf({ prompt: Int32Array.from({ length: 3 + 4 * i }, (_, at) => at), n, maxTokens: 40 }),
    );
    const results = await Promise.all(requests.map((request) => sampler.generate(request)));
    const sequences = results.flatMap(({ completions }, i) =>
      completions.map(({ tokens }) => {
        const prompt = requests[i]!.prompt;
        const all = Int32Array.from([...prompt, ...ids(tokens)]);
        return { tokens: all, mask: Uint8Array.from(all, (_, at) => (at < prompt.length ? 0 : 1)), sampled: tokens };
      }),
    );
    const trained = await trainer.logprobs(sequences);
    let worst = 0;
    sequences.forEach(({ tokens, sampled }, i) =>
      sampled.forEach(({ logprob }, at) => {
        worst = Math.max(worst, Math.abs(logprob - trained[i]![tokens.length - sampled.length + at]!));
      }),
    );
    expect(worst).toBeLessThan(1e-4);
    await trainer.close();
    await sampler.close();
  }
});

test("log-probabilities of a prompt are those of double precision, with ranks and alternatives", async () => {
  const { sampler, config, weights } = await serveSmallModel();
  const prompt = Int32Array.from({ length: 40 }, (_, i) => (i * i) % 40);
  const { promptLogprobs } = await sampler.generate(requestOf({ prompt, promptLogprobs: 2 }));
  const rows = float64Distribution(inFloat64(config, weights), prompt);
  expect(promptLogprobs).toHaveLength(40);
  expect(promptLogprobs![0]).toBeNull();
  promptLogprobs!.slice(1).forEach((entry, i) => {
    const [own, ...others] = entry!;
    const row = rows[i]!;
    expect(own).toMatchObject({ token: prompt[i + 1], rank: 1 + row.filter((each) => each > row[own.token]!).length });
    expect(own.logprob).toBeCloseTo(row[own.token]!, 4);
    const best = row.map((_, token) => token).toSorted((a, b) => row[b]! - row[a]!);
    expect(others.map(({ token }) => token)).toEqual(best.slice(0, 2).filter((token) => token !== own.token));
  });
  const without = await sampler.generate(requestOf({ prompt }));
  expect(without.promptLogprobs).toBeUndefined();
  const bare = await sampler.generate(requestOf({ prompt, promptLogprobs: 0 }));
  expect(bare.promptLogprobs!.slice(1).every((entry) => entry!.length === 1)).toBe(true);
  await sampler.close();
});

test("the same requests with the same seeds give the same bits", async () => {
  const { sampler } = await serveSmallModel();
  const run = async (seed: number) => {
    const requests = [3, 1, 2].map((n, i) =>
      requestOf({ prompt: Int32Array.of(i, 4), n, maxTokens: 30, seed: seed + 10 * i }),
    );
    return Promise.all(requests.map((request) => sampler.generate(request)));
  };
  const first = await run(1);
  expect(await run(1)).toEqual(first);
  expect(await run(2)).not.toEqual(first);
  const [a, b] = await Promise.all([
    sampler.generate(requestOf({ seed: undefined })),
    sampler.generate(requestOf({ seed: undefined })),
  ]);
  expect(a).not.toEqual(b);
  await sampler.close();
});

test("completions of one prompt share its prefill and differ", async () => {
  const { sampler } = await serveSmallModel();
  const { completions, cachedTokens } = await sampler.generate(requestOf({ n: 6, maxTokens: 12 }));
  expect(sampler.stats().prefills).toBe(1);
  expect(cachedTokens).toBe(0);
  expect(completions.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(new Set(completions.map(({ text }) => text)).size).toBe(6);
  const alone = await sampler.generate(requestOf({ seed: 3, maxTokens: 12 }));
  expect(ids(alone.completions[0]!.tokens)).toEqual(ids(completions[2]!.tokens));
  await sampler.close();
});

test("streamed chunks put together are the completions", async () => {
  const { sampler } = await serveSmallModel();
  const chunks: CompletionChunk[] = [];
  const request = requestOf({ n: 3, maxTokens: 20, stop: ["A", "B2"], topLogprobs: 1, ignoreEos: false });
  const { completions } = await sampler.generate(request, { onChunk: (chunk) => chunks.push(chunk) });
  for (const { index, text, tokens } of completions) {
    const own = chunks.filter((chunk) => chunk.index === index);
    expect(own.map((chunk) => chunk.text).join("")).toBe(text);
    expect(own.flatMap((chunk) => chunk.tokens)).toEqual(tokens);
  }
  await sampler.close();
});

test("adapters of one base are decoded together with it, each with its own distribution", async () => {
  const { sampler, config, weights } = await serveSmallModel();
  const shapes: LoraConfig[] = [
    { rank: 2, alpha: 4, targets: [...loraTargets] },
    { rank: 2, alpha: 4, targets: [...loraTargets] },
    { rank: 1, alpha: 3, targets: ["q", "down"] },
  ];
  const sets = shapes.map((shape, i) => randomSet(adapterParameters(config, shape), 20 + i));
  for (const [i, shape] of shapes.entries())
    await sampler.addAdapter(`step ${i}`, "model", { config: shape, set: sets[i]! });
  const names = ["model", "step 0", "step 1", "step 2"];
  const results = await Promise.all(
    names.map((weights) => sampler.generate(requestOf({ weights, n: 2, maxTokens: 10 }))),
  );
  results.forEach(({ completions }, i) => {
    const adapter = i === 0 ? undefined : { config: shapes[i - 1]!, set: sets[i - 1]! };
    for (const { tokens } of completions) {
      const rows = float64Distribution(inFloat64(config, weights, adapter), [1, 2, 3, ...ids(tokens)]).slice(2);
      tokens.forEach(({ token, logprob }, step) => expect(logprob).toBeCloseTo(rows[step]![token]!, 4));
    }
  });
  await sampler.close();
});

test("weights are replaced without aborting requests on the old ones", async () => {
  const { sampler, config, tokenizer } = await serveSmallModel();
  let old: Promise<SamplingResult> | undefined;
  await new Promise<void>((begun) => {
    old = sampler.generate(requestOf({ maxTokens: 30 }), { onChunk: () => begun() });
  });
  let gone = false;
  const remove = async () => {
    await sampler.remove("model");
    gone = true;
  };
  const removed = remove();
  await expect(sampler.generate(requestOf({}))).rejects.toMatchObject({ code: "not_found" });
  await sampler.addModel("model", { config, weights: randomWeights(config, 2), tokenizer });
  const next = sampler.generate(requestOf({ maxTokens: 30 }));
  expect(gone).toBe(false);
  const [before, after] = await Promise.all([old!, next]);
  expect(before.completions[0]!.tokens).toHaveLength(30);
  expect(after.completions[0]!.text).not.toBe(before.completions[0]!.text);
  await removed;
  await sampler.remove("never there");
  await sampler.close();
});

test("a base model is removed after its adapters", async () => {
  const { sampler, config } = await serveSmallModel();
  const shape: LoraConfig = { rank: 1, alpha: 1, targets: ["v"] };
  await sampler.addAdapter("adapter", "model", { config: shape, set: randomSet(adapterParameters(config, shape), 1) });
  await expect(sampler.addAdapter("adapter", "model", { config: shape, set: randomSet([], 1) })).rejects.toMatchObject({
    code: "invalid",
  });
  await expect(sampler.addAdapter("other", "nothing", { config: shape, set: randomSet([], 1) })).rejects.toMatchObject({
    code: "not_found",
  });
  const removed = sampler.remove("model");
  expect((await sampler.generate(requestOf({ weights: "adapter" }))).completions).toHaveLength(1);
  await sampler.remove("adapter");
  await removed;
  await sampler.close();
});

test("beams are real continuations, none less likely than the greedy one", async () => {
  const { sampler, config, weights } = await serveSmallModel();
  const request = requestOf({ n: 4, maxTokens: 9, ignoreEos: false, beamSearch: { lengthPenalty: 1 }, topLogprobs: 1 });
  const [beams, greedy] = await Promise.all([
    sampler.generate(request),
    sampler.generate(requestOf({ temperature: 0, maxTokens: 9, ignoreEos: false })),
  ]);
  const score = (tokens: SampledToken[]) => tokens.reduce((sum, { logprob }) => sum + logprob, 0) / tokens.length;
  expect(score(beams.completions[0]!.tokens)).toBeGreaterThanOrEqual(score(greedy.completions[0]!.tokens) - 1e-6);
  expect(beams.completions.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  expect(new Set(beams.completions.map(({ text }) => text)).size).toBe(4);
  for (const { tokens } of beams.completions) {
    const rows = float64Distribution(inFloat64(config, weights), [1, 2, 3, ...ids(tokens)]).slice(2);
    tokens.forEach(({ token, logprob, alternatives }, step) => {
      expect(logprob).toBeCloseTo(rows[step]![token]!, 4);
      expect(alternatives[0]!.token).toBe(indexOfMost(rows[step]!));
    });
  }
  expect(sampler.stats()).toMatchObject({ rows: 0, queued: 0 });
  await sampler.close();
});

test("structured output satisfies its constraint", async () => {
  const { sampler, config, weights, tokenizer } = await serveSmallModel();
  const constraints = openConstraints(tokenizer);
  await sampler.addModel("bound", { config, weights, tokenizer, constraints });
  const choices = ["MAN", "MANOR", "DOG"];
  const request = requestOf({ weights: "bound", n: 8, maxTokens: 20, structuredOutput: { type: "choice", choices } });
  const [bound, free] = await Promise.all([sampler.generate(request), sampler.generate(requestOf({ maxTokens: 5 }))]);
  for (const { text, finishReason } of bound.completions) {
    expect(choices).toContain(text);
    expect(finishReason).toBe("stop");
  }
  expect(choices).not.toContain(free.completions[0]!.text);
  await expect(sampler.generate({ ...request, weights: "model" })).rejects.toMatchObject({
    code: "unsupported",
    loc: ["structuredOutput"],
  });
  const broken = sampler.generate({ ...request, structuredOutput: { type: "regex", regex: "(" } });
  await expect(broken).rejects.toMatchObject({ code: "invalid" });
  await sampler.close();
  await constraints.close();
});
