import type { GenerateRequest } from "@heddle/training";
import { expect, test } from "vitest";
import { requestOf, serveSmallModel } from "../../test/served-model.js";
import { randomWeights } from "../../test/small-models.js";

type Sharer = NonNullable<GenerateRequest["sharer"]>;

const ann: Sharer = { key: "ann", entity: "acme" };
const bob: Sharer = { key: "bob", entity: "acme" };
const eve: Sharer = { key: "eve", entity: "rival" };
/** Prompts of different seeds differ from their first token on. */
const promptOf = (length: number, seed = 0) => Int32Array.from({ length }, (_, i) => (seed + i * i) % 39);

test.each([20, 256, 300, 700])("a prompt of %d tokens is read once and answered with the same bits", async (length) => {
  const { sampler } = await serveSmallModel();
  const request = requestOf({ prompt: promptOf(length), topLogprobs: 3, maxTokens: 5 });
  const { cachedTokens, ...first } = await sampler.generate(request);
  const again = await sampler.generate(request);
  expect(cachedTokens).toBe(0);
  expect(again).toEqual({ ...first, cachedTokens: length });
  expect(sampler.stats().prefills).toBe(1);
  await sampler.close();
});

test("a prompt that begins like an earlier one has the log-probabilities of one that does not", async () => {
  const warm = await serveSmallModel();
  const cold = await serveSmallModel({ promptCacheBytes: 0 });
  await warm.sampler.generate(requestOf({ prompt: promptOf(600) }));
  const request = requestOf({ prompt: promptOf(900), topLogprobs: 3, maxTokens: 20 });
  const [after, alone] = [await warm.sampler.generate(request), await cold.sampler.generate(request)];
  expect(after).toEqual({ ...alone, cachedTokens: 512 });
  expect(alone.cachedTokens).toBe(0);
  expect(cold.sampler.stats().promptCacheBytes).toBe(0);
  await warm.sampler.close();
  await cold.sampler.close();
});

test("the next turn of a chat finds the prompt and the answer of the last one", async () => {
  const { sampler } = await serveSmallModel();
  const cold = await serveSmallModel({ promptCacheBytes: 0 });
  const prompt = promptOf(200);
  const { completions } = await sampler.generate(requestOf({ prompt, maxTokens: 340, sharer: ann }));
  const answer = completions[0]!.tokens.map(({ token }) => token);
  const next = requestOf({ prompt: Int32Array.from([...prompt, ...answer, 7, 8, 9]), temperature: 0, sharer: ann });
  const [found, read] = [await sampler.generate(next), await cold.sampler.generate(next)];
  expect(found.cachedTokens).toBe(512);
  found.completions[0]!.tokens.forEach(({ token, logprob }, i) => {
    expect(token).toBe(read.completions[0]!.tokens[i]!.token);
    expect(logprob).toBeCloseTo(read.completions[0]!.tokens[i]!.logprob, 4);
  });
  await sampler.close();
  await cold.sampler.close();
});

test("an entity, a salt and weights find nothing of others; keys of one entity share", async () => {
  const { sampler, config, tokenizer } = await serveSmallModel();
  await sampler.addModel("other", { config, weights: randomWeights(config, 8), tokenizer });
  const cached = async (more: Partial<Parameters<typeof requestOf>[0]>) =>
    (await sampler.generate(requestOf({ prompt: promptOf(300), maxTokens: 1, ...more }))).cachedTokens;
  expect(await cached({ sharer: ann, cacheSalt: "a" })).toBe(0);
  expect(await cached({ sharer: ann })).toBe(0);
  expect(await cached({ sharer: ann, cacheSalt: "b" })).toBe(0);
  expect(await cached({ sharer: eve })).toBe(0);
  expect(await cached({ sharer: eve, cacheSalt: "a" })).toBe(0);
  expect(await cached({})).toBe(0);
  expect(await cached({ sharer: ann, weights: "other" })).toBe(0);
  expect(await cached({ sharer: bob })).toBe(300);
  expect(await cached({ sharer: bob, cacheSalt: "a" })).toBe(300);
  await sampler.close();
});

test("log-probabilities of a prompt are computed whether it is kept or not", async () => {
  const { sampler } = await serveSmallModel();
  const request = requestOf({ prompt: promptOf(300), promptLogprobs: 1 });
  const first = await sampler.generate(request);
  expect((await sampler.generate({ ...request, promptLogprobs: undefined })).cachedTokens).toBe(0);
  expect(await sampler.generate(request)).toEqual(first);
  expect(first).toMatchObject({ cachedTokens: 0, promptLogprobs: { length: 300 } });
  await sampler.close();
});

test("prompts are dropped with their weights", async () => {
  const { sampler } = await serveSmallModel();
  await sampler.generate(requestOf({ prompt: promptOf(300) }));
  expect(sampler.stats().promptCacheBytes).toBeGreaterThan(0);
  await sampler.remove("model");
  expect(sampler.stats().promptCacheBytes).toBe(0);
  await sampler.close();
});

test("a key that keeps many prompts evicts its own, not those of others", async () => {
  const { sampler } = await serveSmallModel({ promptCacheBytes: 1_000_000 });
  const cached = async (sharer: Sharer, seed: number) =>
    (await sampler.generate(requestOf({ prompt: promptOf(300, seed), maxTokens: 1, sharer }))).cachedTokens;
  await cached(ann, 1);
  await cached(bob, 2);
  for (let seed = 3; seed < 33; seed++) await cached(eve, seed);
  expect(sampler.stats().promptCacheBytes).toBeLessThanOrEqual(1_000_000);
  expect([await cached(ann, 1), await cached(bob, 2), await cached(eve, 32)]).toEqual([300, 300, 300]);
  expect(await cached(eve, 3)).toBe(0);
  await sampler.close();
});

test("kept prompts give way to running requests", async () => {
  const memoryBytes = 4_000_000;
  const { sampler } = await serveSmallModel({ memoryBytes });
  let [most, kept] = [0, 0];
  const onChunk = () => {
    const { cacheBytes, promptCacheBytes } = sampler.stats();
    most = Math.max(most, cacheBytes + promptCacheBytes);
    kept = Math.max(kept, promptCacheBytes);
  };
  for (let seed = 0; seed < 30; seed++) {
    await sampler.generate(requestOf({ prompt: promptOf(400, seed), maxTokens: 2 }), { onChunk });
  }
  expect(kept).toBeGreaterThan(memoryBytes / 4);
  await Promise.all(
    Array.from({ length: 20 }, (_, seed) => sampler.generate(requestOf({ maxTokens: 900, seed }), { onChunk })),
  );
  expect(most).toBeLessThanOrEqual(memoryBytes);
  await sampler.close();
});

test.each(["", "s".repeat(2 ** 20)])("a salt that is empty or a megabyte is refused by its name", async (cacheSalt) => {
  const { sampler } = await serveSmallModel();
  await expect(sampler.generate(requestOf({ cacheSalt }))).rejects.toMatchObject({
    code: "invalid",
    loc: ["cacheSalt"],
    message: expect.stringContaining("1 to 1024"),
  });
  await sampler.close();
});
