import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Constraints, ConstraintSession } from "@heddle/structured-outputs";
import { requestOf, serveSmallModel } from "../../test/served-model.js";
import { characterTokenizer, randomWeights, smallModels } from "../../test/small-models.js";

const ann = { key: "ann", entity: "acme" };
const bob = { key: "bob", entity: "acme" };
const eve = { key: "eve", entity: "rival" };

/** Runs requests until the work is done; returns how many chunks they had meanwhile. */
async function beside(
  sampler: Awaited<ReturnType<typeof serveSmallModel>>["sampler"],
  requests: Parameters<typeof requestOf>[0][],
  work: () => Promise<unknown>,
): Promise<number> {
  const leave = new AbortController();
  setMaxListeners(0, leave.signal);
  let chunks = 0;
  let [begun, ready] = [0, () => {}];
  const all = new Promise<void>((resolve) => (ready = resolve));
  const running = requests.map((request) => {
    let isFirst = true;
    const onChunk = () => {
      chunks++;
      if (isFirst && ++begun === requests.length) ready();
      isFirst = false;
    };
    return sampler.generate(requestOf(request), { onChunk, signal: leave.signal }).catch(() => undefined);
  });
  await all;
  chunks = 0;
  await work();
  const meanwhile = chunks;
  leave.abort();
  await Promise.all(running);
  return meanwhile;
}

const many = (count: number, request: Parameters<typeof requestOf>[0]) =>
  Array.from({ length: count }, (_, seed) => ({ maxTokens: 900, seed, ...request }));

test("a key does not wait for the masks that constraints of another key need", async () => {
  const { sampler, config } = await serveSmallModel();
  let masks = 0;
  const session: ConstraintSession = {
    async next() {
      await delay(++masks > 6 ? 300 : 0);
      return { mask: new Int32Array(Math.ceil(config.vocabularySize / 32)).fill(-1), onlyEos: false };
    },
    accept: () => {},
    verify: async () => {},
    close: () => {},
  };
  const constraints: Constraints = { compile: async () => session, close: async () => {} };
  const tokenizer = characterTokenizer(config.vocabularySize);
  await sampler.addModel("constrained", { config, weights: randomWeights(config, 2), tokenizer, constraints });
  const slow = { weights: "constrained", sharer: ann, structuredOutput: { type: "regex", regex: ".*" } as const };
  for (const sharer of [eve, bob]) {
    const chunks = await beside(sampler, many(6, slow), async () => {
      await sampler.generate(requestOf({ weights: "constrained", sharer, maxTokens: 10 }));
    });
    // One step of all of them takes 300 ms.
    expect(chunks).toBeLessThanOrEqual(12);
  }
  await sampler.close();
});

test("a key whose steps are short has as much time as one that lists whole vocabularies", async () => {
  const config = { ...smallModels.qwen3, vocabularySize: 30_000 };
  const { sampler } = await serveSmallModel({ config, weights: randomWeights(config, 1), memoryBytes: 2 ** 32 });
  const chunks = await beside(sampler, many(10, { sharer: ann, maxTokens: 20, topLogprobs: -1 }), async () => {
    await sampler.generate(requestOf({ sharer: eve, maxTokens: 10 }));
  });
  // With a step of all for each token it would be 100.
  expect(chunks).toBeLessThan(60);
  await sampler.close();
});

test("rows of several keys with little to do are decoded in one run", async () => {
  const { sampler } = await serveSmallModel();
  const before = sampler.stats().steps;
  const keys = Array.from({ length: 10 }, (_, n) => ({ key: `key ${n}`, entity: `entity ${n}` }));
  await Promise.all(keys.map((sharer) => sampler.generate(requestOf({ sharer, maxTokens: 100 }))));
  expect(sampler.stats().steps - before).toBeLessThan(300);
  await sampler.close();
});

test("a request takes no step while whoever gets its chunks is busy with the last one, and keeps nobody waiting", async () => {
  const { sampler } = await serveSmallModel();
  let pass = () => {};
  let chunks = 0;
  let hasTwo = () => {};
  const two = new Promise<void>((resolve) => (hasTwo = resolve));
  const onChunk = async () => {
    if (++chunks === 2) hasTwo();
    await new Promise<void>((resolve) => (pass = resolve));
  };
  const slow = sampler.generate(requestOf({ sharer: ann, maxTokens: 3, topLogprobs: -1 }), { onChunk });
  // The first one is sampled from the prompt.
  await two;
  await sampler.generate(requestOf({ sharer: eve, maxTokens: 20 }));
  expect(chunks).toBe(2);
  pass();
  await slow;
  expect(chunks).toBe(3);
  await sampler.close();
});
