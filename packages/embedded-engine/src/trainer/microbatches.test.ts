import { expect, test } from "vitest";
import { smallLlama } from "../../test/random-models.js";
import type { TokenSequence } from "@heddle/training";
import type { ModelConfig } from "../model/config.js";
import { batchLimits, computeThreads } from "./batch-limits.js";
import { batchOf, headRowsOf, splitBySequence, planMicrobatches } from "./microbatches.js";

const config = { ...smallLlama, hiddenSize: 128, headSize: 64, feedForwardSize: 512, layers: 4, contextLength: 4096 };
const plenty = batchLimits(config, undefined, { memoryBytes: 2 ** 32, workers: 1 });

function sequence(length: number, trained: number[] = [length - 1]): TokenSequence {
  const mask = new Uint8Array(length);
  for (const i of trained) mask[i] = 1;
  return { tokens: Int32Array.from({ length }, (_, i) => i % 11), mask };
}

test("sequences of similar length share a batch, and each is in one", () => {
  const lengths = [20, 900, 21, 300, 310, 18, 290, 5, 2000];
  const batches = planMicrobatches(
    config,
    lengths.map((length) => sequence(length)),
    plenty,
  );
  expect(batches.map(({ indices, time }) => [indices, time])).toEqual([
    [[8], 2000],
    [[1], 912],
    [[4, 3, 6], 320],
    [[0, 2, 5, 7], 32],
  ]);
  expect(batches.every(({ lowMemory, worker }) => !lowMemory && worker === 0)).toBe(true);
});

test("tokens after the last trained one and sequences without trained tokens are omitted", () => {
  const sequences = [sequence(400, [3, 9]), sequence(50, []), sequence(0), sequence(2)];
  const batches = planMicrobatches(config, sequences, plenty);
  expect(batches.map(({ indices, time }) => [indices, time])).toEqual([[[0, 3], 16]]);
  const rows = headRowsOf(sequences, batches[0]!);
  expect(rows).toEqual({ positions: Int32Array.of(2, 8, 16), targets: Int32Array.of(3, 9, 1) });
  expect([...batchOf(sequences, batches[0]!).tokens.subarray(14, 19)]).toEqual([3, 4, 0, 0, 0]);
  const [long, short] = splitBySequence(sequences, batches[0]!, Float32Array.of(-1, -2, -3));
  expect(long!.indexOf(-2)).toBe(9);
  expect([...short!]).toEqual([NaN, -3]);
});

test("long texts of LongRoPE share no batch with others, whatever is trained of them", () => {
  const divisors = { divisors: [], longDivisors: [], attentionFactor: 1 };
  const long: ModelConfig = { ...config, rotaryScaling: { type: "longrope", originalContextLength: 40, ...divisors } };
  const sequences = [sequence(41, [20]), sequence(40), sequence(39), sequence(90), sequence(16)];
  const batches = planMicrobatches(long, sequences, plenty);
  expect(batches.map(({ indices, areLong }) => [indices, areLong])).toEqual([
    [[3, 0], true],
    [[1, 2, 4], false],
  ]);
  expect(batchOf(sequences, batches[0]!).areLong).toBe(true);
});

test("work is distributed evenly if there is enough", () => {
  const two = batchLimits(config, undefined, { memoryBytes: 2 ** 32, workers: 2 });
  const tokensOf = (count: number) => {
    const tokens = [0, 0];
    for (const { indices, time, worker } of planMicrobatches(
      config,
      Array.from({ length: count }, () => sequence(100)),
      two,
    )) {
      tokens[worker]! += indices.length * time;
    }
    return tokens;
  };
  expect(tokensOf(1)).toEqual([112, 0]);
  expect(tokensOf(16)).toEqual([896, 896]);
});

test("less memory leads to recomputation, then fewer threads, then an error", () => {
  const modes = [1e9, 3e7, 2e7].map((memoryBytes) =>
    batchLimits(config, undefined, { memoryBytes, workers: 1 }).modeOf(1, 256),
  );
  expect(modes).toEqual(["keep", "lowMemory", "tooLarge"]);
  expect(computeThreads(config, undefined, { memoryBytes: 2 ** 32, threads: 8 }).workers).toBe(8);
  expect(computeThreads(config, undefined, { memoryBytes: 2 ** 29, threads: 8 }).workers).toBeLessThan(8);
  expect(computeThreads(config, undefined, { memoryBytes: 2 ** 24, threads: 8 })).toEqual({
    workers: 1,
    threadsPerWorker: 1,
  });
  // Threads for which a large model leaves no memory divide its operators.
  const large = { ...config, hiddenSize: 768, feedForwardSize: 2048, layers: 12 };
  expect(computeThreads(large, undefined, { memoryBytes: 3e9, threads: 4 })).toEqual({
    workers: 1,
    threadsPerWorker: 4,
  });
  expect(computeThreads(large, undefined, { memoryBytes: 2e10, threads: 2 })).toEqual({
    workers: 2,
    threadsPerWorker: 1,
  });
  const tight = batchLimits(config, undefined, { memoryBytes: 3e7, workers: 1 });
  const plan = planMicrobatches(config, [sequence(250), sequence(20), sequence(20)], tight);
  expect(plan.map(({ indices, lowMemory }) => [indices, lowMemory])).toEqual([
    [[0], true],
    [[1, 2], false],
  ]);
});
