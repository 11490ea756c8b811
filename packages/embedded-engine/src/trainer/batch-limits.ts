import type { LoraConfig } from "@heddle/training";
import { availableParallelism } from "node:os";
import { blockwiseLength } from "../model/attention-blocks.js";
import type { ModelConfig } from "../model/config.js";
import { activationBytes, trainingMemory } from "../model/memory.js";
import { operatorThreads } from "../model/operator-threads.js";
import { modelParameters, parameterCount } from "../model/parameters.js";

/** Tokens per batch. The activations of this many fit a processor's cache; larger batches are slower per token. */
const tokensPerBatch = 1024;
/** Maximum bytes of logits and the arrays derived from them. */
const headBytes = 2 ** 28;
const maxWorkers = 16;
/** Operations per weight and token in training: two forward, four backward. */
const operationsPerWeight = 6;
/** Minimum number of operations worth a thread: about 15 ms of one core. */
const minOperations = 1e9;
/** Maximum memory of all graphs that keep their arenas, relative to what one of them needs. */
const arenaFactor = 2;
/** Lengths are rounded up to a multiple of this, for the alignment of vector instructions. */
const lengthMultiple = 16;
const minHeadRows = 32;
const logitArrays = 3;

/** Returns the length that sequences with this many predicted tokens are padded to. */
export function batchLength(predicted: number): number {
  return Math.ceil(predicted / lengthMultiple) * lengthMultiple;
}

export interface BatchLimits {
  /** Returns whether sequences may share a batch of this shape. */
  fits(rows: number, time: number): boolean;
  /** Returns whether all activations of a batch fit in memory, only those of a `lowMemory` pass, or not even they. */
  modeOf(rows: number, time: number): "keep" | "lowMemory" | "tooLarge";
  /** Returns the number of workers worth starting for this number of tokens. */
  workersFor(tokens: number): number;
  /** Bytes available to the activations of one batch. */
  activationBytes: number;
  /** Returns the least bytes that the activations of a batch of this shape take. */
  minBytes(rows: number, time: number): number;
  /** Maximum rows of logits computed at a time. */
  headRows: number;
  /** Whether each graph may keep its memory arena between runs. */
  reuseArenas: boolean;
}

/** How a trainer uses its threads. */
export interface ComputeThreads {
  /** Threads that compute different batches, each with weights of its own. */
  workers: number;
  /** Threads that compute one operator together. */
  threadsPerWorker: number;
}

/**
 * Divides threads (default: one per core) among workers: as many workers as have memory for a batch with all
 * activations, which scale best but have weights of their own. Threads that are left divide the operators of large
 * models.
 */
export function computeThreads(
  config: ModelConfig,
  adapter: LoraConfig | undefined,
  { memoryBytes, threads = availableParallelism() }: { memoryBytes: number; threads?: number },
): ComputeThreads {
  const available = Math.max(1, Math.min(maxWorkers, Math.floor(threads)));
  const time = Math.min(config.contextLength, tokensPerBatch);
  let workers = available;
  while (workers > 1 && batchLimits(config, adapter, { memoryBytes, workers }).modeOf(1, time) !== "keep") workers--;
  return { workers, threadsPerWorker: operatorThreads(config, available / workers) };
}

/**
 * Returns the maximum number of tokens of a sequence that a trainer with this memory accepts, by context and memory; 0
 * if no trainer can be opened.
 */
export function maxSequenceTokens(
  config: ModelConfig,
  adapter: LoraConfig | undefined,
  { memoryBytes, threads }: { memoryBytes: number; threads: number },
): number {
  if (trainingMemory(config, adapter).total > memoryBytes) return 0;
  const { workers } = computeThreads(config, adapter, { memoryBytes, threads });
  const limits = batchLimits(config, adapter, { memoryBytes, workers });
  let [fits, tooLong] = [1, config.contextLength + 1];
  while (fits + 1 < tooLong) {
    const tokens = Math.floor((fits + tooLong) / 2);
    if (limits.modeOf(1, batchLength(tokens - 1)) === "tooLarge") tooLong = tokens;
    else fits = tokens;
  }
  return fits;
}

/**
 * Distributes the memory left by weights and moments among the batches that `workers` threads compute at the same time.
 */
export function batchLimits(
  config: ModelConfig,
  adapter: LoraConfig | undefined,
  { memoryBytes, workers }: { memoryBytes: number; workers: number },
): BatchLimits {
  const { weights = 0, gradients = 0, moments = 0 } = trainingMemory(config, adapter).parts;
  // Each worker except the first has its own weights and gradients, exchanged through shared copies.
  const shared = workers > 1 ? weights + (workers - 1) * (moments / 2) : 0;
  const free = Math.max(0, (memoryBytes - moments - shared) / workers - weights - gradients);
  const parameters = parameterCount(modelParameters(config));
  const bytesPerRow = 4 * logitArrays * config.vocabularySize;
  const headRows = Math.max(minHeadRows, Math.floor(Math.min(headBytes, free / 4) / bytesPerRow));
  const available = Math.max(0, free - Math.min(headRows, tokensPerBatch) * bytesPerRow);
  const bytes = (rows: number, time: number, kept: boolean) => activationBytes(config, { rows, time, kept });
  return {
    fits: (rows, time) => rows * time <= tokensPerBatch && bytes(rows, time, true) <= available,
    modeOf(rows, time) {
      if (bytes(rows, time, true) <= available) return "keep";
      return bytes(rows, blockwiseLength(time), false) <= available ? "lowMemory" : "tooLarge";
    },
    workersFor: (tokens) =>
      Math.max(1, Math.min(workers, Math.floor((operationsPerWeight * parameters * tokens) / minOperations))),
    activationBytes: available,
    minBytes: (rows, time) => bytes(rows, blockwiseLength(time), false),
    headRows,
    reuseArenas: arenaFactor * bytes(1, Math.min(config.contextLength, tokensPerBatch), true) <= available,
  };
}
