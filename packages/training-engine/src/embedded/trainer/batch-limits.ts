import { availableParallelism } from "node:os";
import type { ModelConfig } from "../../model/config.js";
import { activationBytes, trainingMemory } from "../../model/memory.js";
import type { LoraConfig } from "../../model/parameters.js";
import { modelParameters, parameterCount } from "../../model/parameters.js";

/** Activations of so many tokens still fit a processor's cache; larger batches were slower per token. */
const tokensPerBatch = 1024;
/** Logits, and the arrays made of them, take at most this. */
const headBytes = 2 ** 28;
const maxWorkers = 16;
/** Of training: two forward, four on the way back. */
const operationsPerWeight = 6;
/** Less is not worth a thread: about 15 ms of one core. */
const minOperations = 1e9;
/** What graphs that keep their memory take at most, against what one of them needs. */
const arenaFactor = 2;
const minHeadRows = 32;
const logitArrays = 3;

export interface BatchLimits {
  /** Whether sequences may share a batch of this shape. */
  fits(rows: number, time: number): boolean;
  /** Whether the forward pass may keep everything, must compute it again on the way back, or cannot even do that. */
  modeOf(rows: number, time: number): "keep" | "recompute" | "too large";
  /** How many threads so many tokens are worth. */
  workersFor(tokens: number): number;
  /** Bytes that one batch may take, and those it takes at least. */
  activationBytes: number;
  minBytes(rows: number, time: number): number;
  /** Rows of logits at a time. */
  headRows: number;
  /** Whether there is memory enough that each graph may keep its own between runs. */
  reuseArenas: boolean;
}

/**
 * How many threads compute gradients: as many as asked for, else one per core, but never more than leave each of them memory
 * for a batch with all its values.
 */
export function workerCount(
  config: ModelConfig,
  adapter: LoraConfig | undefined,
  memoryBytes: number,
  requested = availableParallelism(),
): number {
  let workers = Math.max(1, Math.min(maxWorkers, Math.floor(requested)));
  const time = Math.min(config.contextLength, tokensPerBatch);
  while (workers > 1 && batchLimits(config, adapter, { memoryBytes, workers }).modeOf(1, time) !== "keep") workers--;
  return workers;
}

/** How the memory that weights and moments leave is used by batches; `lanes` of them are computed at the same time. */
export function batchLimits(
  config: ModelConfig,
  adapter: LoraConfig | undefined,
  { memoryBytes, workers }: { memoryBytes: number; workers: number },
): BatchLimits {
  const { weights = 0, gradients = 0, moments = 0 } = trainingMemory(config, adapter).parts;
  // Beside the first lane, each has weights and gradients of its own, and they are exchanged through shared copies.
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
      return bytes(rows, time, false) <= available ? "recompute" : "too large";
    },
    workersFor: (tokens) =>
      Math.max(1, Math.min(workers, Math.floor((operationsPerWeight * parameters * tokens) / minOperations))),
    activationBytes: available,
    minBytes: (rows, time) => bytes(rows, time, false),
    headRows,
    reuseArenas: arenaFactor * bytes(1, Math.min(config.contextLength, tokensPerBatch), true) <= available,
  };
}
