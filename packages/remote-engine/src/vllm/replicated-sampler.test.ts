import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { GenerateRequest, SamplerProvider } from "@heddle/training";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { writeCheckpoint } from "../../test/adapter-files.js";
import { VllmServer } from "../../test/vllm-server.js";
import { openVllmSampler } from "./provider.js";

const starter = fileURLToPath(new URL("../../../embedded-engine/models/starter", import.meta.url));

let servers: VllmServer[];
let provider: SamplerProvider;
let directory: string;
beforeEach(async () => {
  servers = await Promise.all([1, 2, 3].map(async () => await new VllmServer().listen()));
  for (const server of servers) server.script = [[{ id: 301, text: "yes", logprob: -0.25 }]];
  const models = [{ name: "starter", directory: starter, inference: { model: "tiny" } }];
  provider = openVllmSampler({ url: servers.map(({ url }) => url), models, pauseMs: 1 });
  directory = await mkdtemp(join(tmpdir(), "heddle-replicas-"));
});
afterEach(async () => {
  expect(servers.flatMap(({ unknown }) => [...unknown])).toEqual([]);
  await provider.close();
  await Promise.all(servers.map((server) => server.close().catch(() => undefined)));
  await rm(directory, { recursive: true, force: true });
});

const ask = (more: Partial<GenerateRequest> = {}): GenerateRequest => ({
  weights: { baseModel: "starter" },
  prompt: Int32Array.of(300, 310),
  n: 1,
  maxTokens: 4,
  ...more,
});
const prompts = Array.from({ length: 30 }, (_, at) => Int32Array.of(300 + at, 5));
/** Without those that compare servers. */
const completionsOf = (server: VllmServer) =>
  server.sent("/v1/completions").filter((body) => !("prompt_logprobs" in body)).length;
const counts = () => servers.map(completionsOf);

async function adapter(name: string, value = 1) {
  const checkpoint = join(directory, name);
  await writeCheckpoint(checkpoint, value);
  return { baseModel: "starter", checkpoint };
}

test("prompts with the same beginning go to the same server, others are spread over all", async () => {
  for (let times = 0; times < 4; times++) await provider.sampler.generate(ask());
  expect(counts().toSorted((a, b) => a - b)).toEqual([0, 0, 4]);
  for (const prompt of prompts) await provider.sampler.generate(ask({ prompt }));
  expect(Math.min(...counts())).toBeGreaterThan(0);
});

test("a server with more than its share of the running requests is spared", async () => {
  let release = () => {};
  const hold = new Promise<void>((resolve) => (release = resolve));
  for (const server of servers) server.hold = hold;
  const running = Array.from({ length: 9 }, () => provider.sampler.generate(ask()));
  await expect.poll(() => counts().reduce((sum, count) => sum + count, 0)).toBe(9);
  expect(Math.max(...counts())).toBeLessThanOrEqual(5);
  release();
  await Promise.all(running);
});

test("a server that is away is left out, and its requests go to the others", async () => {
  await servers[1]?.close();
  for (const prompt of prompts) {
    expect((await provider.sampler.generate(ask({ prompt }))).completions[0]?.text).toBe("yes");
  }
  expect(completionsOf(servers[0]!) + completionsOf(servers[2]!)).toBe(prompts.length);
  expect(await provider.health()).toEqual({ ok: true, detail: expect.stringContaining("refuses connections") });
  await servers[0]?.close();
  await servers[2]?.close();
  await expect(provider.sampler.generate(ask())).rejects.toMatchObject({ code: "busy" });
  expect(await provider.health()).toMatchObject({ ok: false });
});

test("a completion that has begun is not begun again elsewhere", async () => {
  for (const server of servers) {
    server.script = [Array.from({ length: 3 }, () => ({ id: 301, text: "yes", logprob: -0.25 }))];
    server.fault = ({ path }) => (path === "/v1/completions" ? { cutAfterEvents: 1 } : undefined);
  }
  await expect(provider.sampler.generate(ask())).rejects.toMatchObject({ code: "failed" });
  expect(counts().toSorted((a, b) => a - b)).toEqual([0, 0, 1]);
});

test("an adapter is loaded on each server, and unloaded from each", async () => {
  const weights = await adapter("one");
  await provider.sampler.preload(weights);
  expect(servers.map(({ adapters }) => adapters.size)).toEqual([1, 1, 1]);
  await provider.sampler.unload(weights);
  expect(servers.map(({ adapters }) => adapters.size)).toEqual([0, 0, 0]);
  await servers[1]?.close();
  await provider.sampler.preload(await adapter("two", 2));
  expect([servers[0]?.adapters.size, servers[2]?.adapters.size]).toEqual([1, 1]);
});

test("a server that computes with other weights is found when a checkpoint is loaded", async () => {
  servers[1]!.scoreShift = -0.1;
  await expect(provider.sampler.preload(await adapter("one"))).rejects.toMatchObject({
    code: "failed",
    message: expect.stringMatching(/127\.0\.0\.1:\d+ and 127\.0\.0\.1:\d+ compute different log-probabilities/),
  });
});

test("a server that has other weights from the beginning gets no request, and is named", async () => {
  servers[2]!.scoreShift = -0.1;
  for (const prompt of prompts) await provider.sampler.generate(ask({ prompt }));
  expect(counts()).toEqual([expect.any(Number), expect.any(Number), 0]);
  expect(completionsOf(servers[0]!) + completionsOf(servers[1]!)).toBe(prompts.length);
  expect(completionsOf(servers[1]!)).toBeGreaterThan(0);
  const { ok, detail } = await provider.health();
  expect([ok, detail]).toEqual([true, expect.stringContaining("one of them has other weights")]);
  expect(detail).toContain(new URL(servers[2]!.url).host);
  // One comparison each, however many requests there are.
  const comparisons = servers.map((server) => server.sent("/v1/completions").length - completionsOf(server));
  expect(comparisons).toEqual([2, 1, 1]);
});

test("what a server refuses names the server and is not tried elsewhere", async () => {
  for (const server of servers) server.loadsAdapters = false;
  await expect(provider.sampler.preload(await adapter("one"))).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringMatching(/^127\.0\.0\.1:\d+: the inference server does not load adapters/),
  });
});

test("a server that comes back with other weights gets no requests, and is named", async () => {
  const [first, second, third] = servers;
  await third?.close();
  let isAway = true;
  second!.fault = ({ path }) => (isAway && path === "/v1/completions" ? { status: 503 } : undefined);
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    for (const prompt of prompts) await provider.sampler.generate(ask({ prompt }));
    isAway = false;
    second!.scoreShift = -0.1;
    vi.advanceTimersByTime(11_000);
    second!.requests.length = 0;
    for (const prompt of prompts) {
      expect((await provider.sampler.generate(ask({ prompt }))).completions[0]?.text).toBe("yes");
    }
    const { detail } = await provider.health();
    expect(detail).toMatch(/compute different log-probabilities \(by 0\.10\): one of them has other weights/u);
    expect(second!.sent("/v1/completions").map((body) => "prompt_logprobs" in body)).toEqual([true]);
    second!.scoreShift = 0;
    vi.advanceTimersByTime(11_000);
    for (const prompt of prompts) await provider.sampler.generate(ask({ prompt }));
    expect(completionsOf(second!)).toBeGreaterThan(5);
    expect((await provider.health()).detail).not.toContain("other weights");
    expect(completionsOf(first!)).toBeGreaterThan(30);
  } finally {
    vi.useRealTimers();
  }
});
