import { setMaxListeners } from "node:events";
import { expect, test } from "vitest";
import type { GenerateRequest } from "@heddle/training";
import { requestOf, serveSmallModel } from "../../test/served-model.js";
import { randomWeights } from "../../test/small-models.js";

type Sharer = NonNullable<GenerateRequest["sharer"]>;

const ann: Sharer = { key: "ann", entity: "acme" };
const bob: Sharer = { key: "bob", entity: "acme" };
const cat: Sharer = { key: "cat", entity: "acme" };
const eve: Sharer = { key: "eve", entity: "rival" };
const dan: Sharer = { key: "dan", entity: "third" };
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A sampler in which many long requests of one key run, as many as may, and others of it wait. */
async function crowded(
  settings: Parameters<typeof serveSmallModel>[0],
  { requests = 60, ...more }: Partial<Parameters<typeof requestOf>[0]> & { requests?: number } = {},
) {
  const { sampler, ...served } = await serveSmallModel(settings);
  const ended: string[] = [];
  const leave = new AbortController();
  setMaxListeners(0, leave.signal);
  const running = Array.from({ length: requests }, (_, seed) =>
    sampler.generate(requestOf({ sharer: ann, maxTokens: 900, seed, ...more }), { signal: leave.signal }).then(
      () => ended.push("ann"),
      () => undefined,
    ),
  );
  let steps = -1;
  // Until a step has passed in which nothing more could start.
  for (let rows = -1; rows !== sampler.stats().rows || rows === 0 || steps === sampler.stats().steps;) {
    ({ rows, steps } = sampler.stats());
    await turn();
  }
  return {
    sampler,
    ...served,
    ended,
    close: async () => {
      leave.abort();
      await Promise.all(running);
      await sampler.close();
    },
  };
}

const manyRows = { maxRows: 16 };
// 60 rows of 1,024 positions take six times as much.
const littleMemory = { memoryBytes: 8_000_000 };

test.each([
  ["rows", manyRows, {}],
  ["memory", littleMemory, {}],
  ["memory, by several choices of each request", littleMemory, { n: 8, requests: 12 }],
  ["memory, by beams", littleMemory, { n: 4, requests: 12, ignoreEos: true, beamSearch: { lengthPenalty: 1 } }],
  ["memory, by long prompts", littleMemory, { prompt: new Int32Array(800).fill(3), maxTokens: 200 }],
])(
  "a short request of another entity or key starts while long ones of one key want all %s",
  async (_, settings, more) => {
    const { sampler, ended, close } = await crowded(settings, more);
    for (const sharer of [eve, bob]) {
      const before = sampler.stats().steps;
      let steps = 0;
      await sampler.generate(requestOf({ sharer, maxTokens: 5 }), {
        onChunk: () => (steps ||= sampler.stats().steps - before),
      });
      // Groups of rows are counted apart: each takes a step per iteration.
      expect(steps).toBeLessThanOrEqual(20);
      expect(ended).toEqual([]);
    }
    await close();
  },
);

test("a key has half of the rows, an entity three quarters, and others the rest", async () => {
  const { sampler } = await serveSmallModel({ maxRows: 16 });
  const rows = async (sharer: Sharer | undefined, expected: number) => {
    const leave = new AbortController();
    setMaxListeners(0, leave.signal);
    const all = Array.from({ length: 16 }, (_, seed) =>
      sampler.generate(requestOf({ sharer, maxTokens: 900, seed }), { signal: leave.signal }).catch(() => undefined),
    );
    for (let i = 0; i < 400 && sampler.stats().rows < expected; i++) await turn();
    for (let i = 0; i < 40; i++) await turn();
    expect(sampler.stats().rows).toBe(expected);
    return async () => {
      leave.abort();
      await Promise.all(all);
    };
  };
  const end = [await rows(ann, 8), await rows(bob, 12), await rows(cat, 12), await rows(eve, 16)];
  for (const each of end) await each();
  await sampler.close();
});

test("what is freed goes to the sharer that has the least, not to who came first", async () => {
  const { sampler, ended, close } = await crowded({ maxRows: 4 }, { maxTokens: 40, requests: 6 });
  const ask = async (sharer: Sharer, name: string) => {
    await sampler.generate(requestOf({ sharer, maxTokens: 10 }));
    ended.push(name);
  };
  // ann has two rows, eve the others: dan, who came last, has nothing.
  await Promise.all([ask(eve, "eve 1"), ask(eve, "eve 2"), ask(eve, "eve 3"), ask(eve, "eve 4"), ask(dan, "dan")]);
  expect(ended.slice(0, 3).toSorted()).toEqual(["dan", "eve 1", "eve 2"]);
  await close();
});

test("a priority counts among the requests of one key only", async () => {
  const { sampler, ended, close } = await crowded({ maxRows: 4 }, { priority: 100, maxTokens: 60, requests: 8 });
  await sampler.generate(requestOf({ sharer: eve, maxTokens: 5 }));
  expect(ended).toEqual([]);
  await close();
});

test("what exists never exceeds the memory, whoever asks for it", async () => {
  const memoryBytes = 4_000_000;
  const { sampler, config, tokenizer } = await serveSmallModel({ memoryBytes });
  await sampler.addModel("other", { config, weights: randomWeights(config, 8), tokenizer });
  let most = 0;
  const onChunk = () => (most = Math.max(most, sampler.stats().cacheBytes));
  const results = await Promise.all(
    Array.from({ length: 45 }, (_, i) =>
      sampler.generate(
        requestOf({
          sharer: [ann, bob, eve][i % 3]!,
          weights: i % 2 ? "model" : "other",
          n: 1 + (i % 5),
          maxTokens: i % 7 ? 8 : 600,
          prompt: new Int32Array(1 + 90 * (i % 4)).fill(i % 39),
          seed: i,
        }),
        { onChunk },
      ),
    ),
  );
  expect(results.map(({ completions }) => completions.length)).toEqual(results.map((_, i) => 1 + (i % 5)));
  expect(most).toBeGreaterThan(memoryBytes / 2);
  expect(most).toBeLessThanOrEqual(memoryBytes);
  await sampler.close();
});

test("a request larger than the share of a key is refused with the numbers and the setting", async () => {
  const { sampler } = await serveSmallModel({ memoryBytes: 400_000, memorySetting: "HEDDLE_TRAINING_MEMORY" });
  const large = requestOf({ maxTokens: 1000 });
  expect((await sampler.generate(large)).completions).toHaveLength(1);
  await expect(sampler.generate({ ...large, sharer: ann })).rejects.toMatchObject({
    code: "too_large",
    message: expect.stringMatching(/needs \d{6} bytes .* 200000 are available to one key \(HEDDLE_TRAINING_MEMORY\)/),
  });
  const beams = requestOf({ n: 65, sharer: ann, beamSearch: { lengthPenalty: 1 } });
  await expect(sampler.generate(beams)).rejects.toMatchObject({ code: "invalid", loc: ["n"] });
  await sampler.close();
});

test("a key whose queue is full keeps nobody else from queueing", async () => {
  const { sampler, close } = await crowded({ maxRows: 2, maxQueued: 8 }, { requests: 4 });
  const last = sampler.generate(requestOf({ sharer: ann, maxTokens: 900 }));
  await expect(sampler.generate(requestOf({ sharer: ann }))).rejects.toMatchObject({ code: "rate_limited" });
  expect((await sampler.generate(requestOf({ sharer: eve }))).completions).toHaveLength(1);
  await Promise.all([close(), expect(last).rejects.toMatchObject({ code: "aborted" })]);
});
