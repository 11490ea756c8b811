import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratchDirectories } from "../../test/weight-files.js";
import type { WeightsRef } from "@heddle/training";
import { writeCheckpoint } from "../weights/checkpoint.js";
import { initialAdapter, initialWeights } from "../weights/initial-weights.js";
import { loadWeights } from "../weights/load-weights.js";
import { createCpuSampler } from "../decode/cpu-sampler.js";
import { servedWeights } from "./served-weights.js";

const scratch = scratchDirectories();
const baseModel = "random:tiny";
const { baseDigest, base, config } = await loadWeights({}, { baseModel });

const common = { baseModel, baseDigest, baseDirectory: base.directory, config, steps: 1, seed: 1 };
const shape = { rank: 4, alpha: 64, targets: ["v" as const, "down" as const] };

function open() {
  const sampler = createCpuSampler({ memoryBytes: 2 ** 26 });
  onTestFinished(() => sampler.close());
  return { sampler, weights: servedWeights(sampler, {}, 2 ** 27) };
}

function writeFull(directory: string, seed: number) {
  return writeCheckpoint(directory, { ...common, trained: { weights: initialWeights(config, seed) } });
}

function writeAdapter(directory: string, seed: number) {
  const set = initialAdapter(config, shape, seed);
  set.flat.forEach((_, at) => (set.flat[at] = Math.sin(at + seed) / 4));
  return writeCheckpoint(directory, { ...common, trained: { adapter: { config: shape, set } } });
}

test.each([
  ["full weights", writeFull],
  ["an adapter", writeAdapter],
] as const)("a directory whose %s were replaced serves the new ones, without a notice", async (_what, write) => {
  const { sampler, weights } = open();
  const checkpoint = join(await scratch(), "checkpoint");
  const served = async (ref: WeightsRef) => {
    const lease = await weights.acquire(ref);
    const prompt = Int32Array.of(300, 301, 302);
    const { completions } = await sampler.generate({ weights: lease.id, prompt, n: 1, maxTokens: 6, temperature: 0 });
    lease.release();
    return { id: lease.id, logprobs: completions[0]!.tokens.map(({ logprob }) => logprob) };
  };
  await write(checkpoint, 1);
  const copy = `${checkpoint}-copy`;
  await cp(checkpoint, copy, { recursive: true });
  const first = await served({ baseModel, checkpoint });
  await rm(checkpoint, { recursive: true });
  await write(checkpoint, 2);
  const second = await served({ baseModel, checkpoint });
  expect(second.logprobs).not.toEqual(first.logprobs);
  // The same content from another directory is not loaded twice.
  expect(await served({ baseModel, checkpoint: copy })).toEqual(first);
});

test("weights named by their digest are served from memory when their directory is gone, and never others", async () => {
  const { weights } = open();
  const checkpoint = join(await scratch(), "checkpoint");
  await writeFull(checkpoint, 1);
  const { digest } = await loadWeights({}, { baseModel, checkpoint });
  const lease = await weights.acquire({ baseModel, checkpoint, digest });
  lease.release();
  await rm(checkpoint, { recursive: true });
  const again = await weights.acquire({ baseModel, checkpoint, digest });
  again.release();
  expect(again.id).toBe(lease.id);
  await weights.invalidate({ baseModel, checkpoint });
  await expect(weights.acquire({ baseModel, checkpoint, digest })).rejects.toMatchObject({ code: "not_found" });
  await writeFull(checkpoint, 2);
  await expect(weights.acquire({ baseModel, checkpoint, digest })).rejects.toMatchObject({ code: "conflict" });
});
