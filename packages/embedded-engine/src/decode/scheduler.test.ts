import type { HeddleError } from "@heddle/errors";
import { expect, test } from "vitest";
import { requestOf, serveSmallModel } from "../../test/served-model.js";
import { randomWeights, smallModels } from "../../test/small-models.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a later request joins the running batch", async () => {
  const { sampler } = await serveSmallModel();
  const order: string[] = [];
  let late: Promise<unknown> | undefined;
  const long = sampler.generate(requestOf({ maxTokens: 60 }), {
    onChunk: () => {
      order.push("long");
      if (order.length === 20) {
        late = sampler.generate(requestOf({ maxTokens: 5 }), { onChunk: () => order.push("late") });
      }
    },
  });
  await long;
  await late;
  expect(order.slice(0, 20)).toEqual(order.slice(0, 20).map(() => "long"));
  expect(order.lastIndexOf("late")).toBeLessThan(35);
  await sampler.close();
});

test("a long prompt does not block the steps of other requests", async () => {
  const { sampler } = await serveSmallModel({ config: smallModels.llama });
  const order: string[] = [];
  let late: Promise<unknown> | undefined;
  await sampler.generate(requestOf({ maxTokens: 40 }), {
    onChunk: () => {
      order.push("short");
      const prompt = Int32Array.from({ length: 900 }, (_, i) => i % 40);
      late ??= sampler.generate(requestOf({ prompt, maxTokens: 1 }), { onChunk: () => order.push("long prompt") });
    },
  });
  await late;
  // Four chunks of the prompt, with a step between them.
  expect(order.indexOf("long prompt")).toBeGreaterThanOrEqual(4);
  expect(order.indexOf("long prompt")).toBeLessThan(12);
  await sampler.close();
});

test("an abort ends a request within a step and frees its rows", async () => {
  const { sampler } = await serveSmallModel();
  const control = new AbortController();
  const aborted = new Error("enough");
  let chunks = 0;
  const request = sampler.generate(requestOf({ n: 4, maxTokens: 500 }), {
    signal: control.signal,
    onChunk: () => {
      chunks++;
      if (chunks === 10) control.abort(aborted);
    },
  });
  await expect(request).rejects.toMatchObject({ code: "aborted" });
  expect(chunks).toBe(10);
  const { steps } = sampler.stats();
  await turn();
  await turn();
  expect(sampler.stats()).toMatchObject({ rows: 0, queued: 0, cacheBytes: 0 });
  expect(sampler.stats().steps).toBeLessThanOrEqual(steps + 1);
  await expect(sampler.generate(requestOf({}), { signal: control.signal })).rejects.toMatchObject({ code: "aborted" });
  await sampler.close();
});

test("aborting one request does not affect the others", async () => {
  const { sampler } = await serveSmallModel();
  const alone = await sampler.generate(requestOf({ maxTokens: 30 }));
  const control = new AbortController();
  const [kept, dropped] = await Promise.allSettled([
    sampler.generate(requestOf({ maxTokens: 30 })),
    sampler.generate(requestOf({ n: 3, maxTokens: 300, seed: 9 }), {
      signal: control.signal,
      onChunk: () => control.abort(),
    }),
  ]);
  expect(dropped.status).toBe("rejected");
  const tokens = (result: typeof alone) => result.completions.map(({ text }) => text);
  expect(kept.status === "fulfilled" && tokens(kept.value)).toEqual(tokens(alone));
  await sampler.close();
});

test("a listener that throws fails its own request", async () => {
  const { sampler } = await serveSmallModel();
  const request = sampler.generate(requestOf({}), {
    onChunk: () => {
      throw new TypeError("no socket");
    },
  });
  await expect(request).rejects.toThrow("no socket");
  expect((await sampler.generate(requestOf({}))).completions).toHaveLength(1);
  await sampler.close();
});

test("requests over the queue limit are rejected as busy", async () => {
  const { sampler } = await serveSmallModel({ maxRows: 1, maxQueued: 2 });
  const running = sampler.generate(requestOf({ maxTokens: 30 }));
  while (sampler.stats().rows === 0) await turn();
  const queued = [1, 2].map((seed) => sampler.generate(requestOf({ seed })));
  expect(sampler.stats().queued).toBe(2);
  await expect(sampler.generate(requestOf({}))).rejects.toMatchObject({ code: "busy" });
  await Promise.all([running, ...queued]);
  expect((await sampler.generate(requestOf({}))).completions).toHaveLength(1);
  await sampler.close();
});

test("a higher priority starts first, equal ones in order of arrival", async () => {
  const { sampler } = await serveSmallModel({ maxRows: 1 });
  const ended: string[] = [];
  const ask = async (name: string, priority?: number) => {
    await sampler.generate(requestOf({ priority }));
    ended.push(name);
  };
  const first = ask("first");
  while (sampler.stats().rows === 0) await turn();
  await Promise.all([first, ask("second"), ask("third"), ask("urgent", 3), ask("idle", -1), ask("fourth")]);
  expect(ended).toEqual(["first", "urgent", "second", "third", "fourth", "idle"]);
  await sampler.close();
});

test("a request with many completions does not block others", async () => {
  const { sampler } = await serveSmallModel({ maxRows: 2 });
  const ended: string[] = [];
  const ask = async (name: string, n: number) => {
    const { completions } = await sampler.generate(requestOf({ n }));
    expect(completions).toHaveLength(n);
    ended.push(name);
  };
  await Promise.all([ask("many", 7), ask("one", 1), ask("another", 1)]);
  expect(ended).toEqual(["one", "another", "many"]);
  expect(sampler.stats().prefills).toBe(3);
  await sampler.close();
});

test("a request that exceeds the memory is refused with the required and the available bytes", async () => {
  const { sampler } = await serveSmallModel({ memoryBytes: 250_000 });
  await expect(sampler.generate(requestOf({ maxTokens: 1000 }))).rejects.toMatchObject({
    code: "too_large",
    message: expect.stringMatching(/needs \d{6} bytes .* 250000/),
  });
  await expect(sampler.generate(requestOf({ n: 20, maxTokens: 400, topLogprobs: -1 }))).rejects.toMatchObject({
    code: "too_large",
  });
  await expect(sampler.generate(requestOf({ n: 8, beamSearch: { lengthPenalty: 1 } }))).rejects.toMatchObject({
    code: "too_large",
  });
  expect((await sampler.generate(requestOf({ n: 8 }))).completions).toHaveLength(8);
  await sampler.close();
});

test("requests wait for memory and all complete", async () => {
  const memoryBytes = 1_000_000;
  const { sampler, config, tokenizer } = await serveSmallModel({ memoryBytes });
  await sampler.addModel("other", { config, weights: randomWeights(config, 8), tokenizer });
  let most = 0;
  let rows = 0;
  const onChunk = () => {
    most = Math.max(most, sampler.stats().cacheBytes);
    rows = Math.max(rows, sampler.stats().rows);
  };
  const requests = Array.from({ length: 12 }, (_, i) =>
    requestOf({
      n: 1 + (i % 3),
      weights: i % 2 ? "model" : "other",
      prompt: Int32Array.from({ length: 1 + 50 * (i % 5) }, (_, at) => at % 40),
      seed: i,
    }),
  );
  const results = await Promise.all(requests.map((request) => sampler.generate(request, { onChunk })));
  results.forEach(({ completions }, i) => expect(completions).toHaveLength(requests[i]!.n));
  expect(most).toBeLessThanOrEqual(memoryBytes);
  expect(rows).toBeGreaterThan(1);
  expect(rows).toBeLessThan(10);
  await sampler.close();
});

test("invalid requests are refused before anything runs", async () => {
  const { sampler, config } = await serveSmallModel();
  const refused = async (settings: Parameters<typeof requestOf>[0]) =>
    sampler.generate(requestOf(settings)).then(
      () => undefined,
      (error: HeddleError) => [error.code, error.loc],
    );
  expect(await refused({ weights: "nothing" })).toEqual(["not_found", undefined]);
  expect(await refused({ maxTokens: config.contextLength })).toEqual(["invalid", ["maxTokens"]]);
  expect(await refused({ prompt: Int32Array.of(40) })).toEqual(["invalid", ["prompt", 0]]);
  expect(await refused({ stop: [""] })).toEqual(["invalid", ["stop", 0]]);
  expect(sampler.stats().prefills).toBe(0);
  await sampler.close();
});

test("NaN weights fail only the requests on them", async () => {
  const { sampler, config, weights, tokenizer } = await serveSmallModel();
  const broken = randomWeights(config, 1);
  broken.flat.fill(NaN, broken.flat.length >> 1);
  await sampler.addModel("broken", { config, weights: broken, tokenizer });
  const [bad, good] = await Promise.allSettled([
    sampler.generate(requestOf({ weights: "broken" })),
    sampler.generate(requestOf({})),
  ]);
  expect(bad).toMatchObject({ status: "rejected", reason: { code: "failed" } });
  expect(good.status).toBe("fulfilled");
  expect(weights.flat.every(Number.isFinite)).toBe(true);
  await sampler.close();
});

test("closing aborts running requests", async () => {
  const { sampler } = await serveSmallModel();
  const running = sampler.generate(requestOf({ maxTokens: 900 }));
  const checked = expect(running).rejects.toMatchObject({ code: "aborted" });
  while (sampler.stats().rows === 0) await turn();
  await sampler.close();
  await checked;
  await expect(sampler.generate(requestOf({}))).rejects.toMatchObject({ code: "not_found" });
});
