import { HeddleError } from "@heddle/errors";
import type { TokenSequence } from "@heddle/training";
import { blockwiseLength } from "../model/attention-blocks.js";
import type { ModelConfig } from "../model/config.js";
import { isLongText } from "../model/long-texts.js";
import type { BatchLimits } from "./batch-limits.js";
import { batchLength } from "./batch-limits.js";
import type { HeadRows, TokenBatch } from "./network.js";

/** Sequences that run in one pass. */
export interface Microbatch {
  /** Indices into the sequences of the call. */
  indices: number[];
  /** Length in tokens that the sequences are padded to. */
  time: number;
  /** Whether the activations do not all fit in memory; see `ForwardMode`. */
  lowMemory: boolean;
  /** Whether the sequences are long texts; see `isLongText`. */
  areLong: boolean;
  /** Index of the worker that computes it; 0 is the trainer's thread. */
  worker: number;
}

/** Minimum number of tokens worth a separate batch. */
const minTokens = 256;

/**
 * Packs sequences of similar length into batches that fit in memory, longest first, and distributes the batches among
 * the workers that the work is worth. Sequences without a trained token and everything after the last trained token are
 * omitted. The result is deterministic. Throws `too_large` when a single sequence does not fit.
 */
export function planMicrobatches(
  config: ModelConfig,
  sequences: readonly TokenSequence[],
  limits: BatchLimits,
): Microbatch[] {
  const sorted = sequences
    .map(({ mask, tokens }, index) => ({
      index,
      time: batchLength(mask.lastIndexOf(1)),
      isLong: isLongText(config, tokens.length),
    }))
    .filter(({ time }) => time > 0)
    .toSorted((a, b) => b.time - a.time || a.index - b.index);
  const all = sorted.reduce((sum, { time }) => sum + time, 0);
  const tokensOfWorkers = Array.from({ length: limits.workersFor(all) }, () => 0);
  const maxTokens = Math.max(minTokens, Math.ceil(all / tokensOfWorkers.length));
  const batches: Microbatch[] = [];
  for (const { index, time, isLong } of sorted) {
    const last = batches.findLast(({ areLong }) => areLong === isLong);
    const rows = (last?.indices.length ?? 0) + 1;
    if (last && rows * last.time <= maxTokens && limits.fits(rows, last.time)) last.indices.push(index);
    else batches.push({ indices: [index], ...shapeOf(limits, index, time), areLong: isLong, worker: 0 });
  }
  for (const batch of batches) {
    batch.worker = tokensOfWorkers.indexOf(Math.min(...tokensOfWorkers));
    tokensOfWorkers[batch.worker]! += batch.indices.length * batch.time;
  }
  return batches;
}

function shapeOf(limits: BatchLimits, index: number, time: number): Pick<Microbatch, "time" | "lowMemory"> {
  const mode = limits.modeOf(1, time);
  if (mode === "tooLarge") {
    throw new HeddleError(
      "too_large",
      `training on ${time} tokens at once takes ${limits.minBytes(1, time)} bytes, and ${limits.activationBytes} are available`,
      { loc: ["sequences", index, "tokens"] },
    );
  }
  const lowMemory = mode === "lowMemory";
  return { lowMemory, time: lowMemory ? blockwiseLength(time) : time };
}

/**
 * Returns the input tokens of a microbatch. The last token of each sequence is omitted, because nothing is predicted
 * from it.
 */
export function batchOf(sequences: readonly TokenSequence[], { indices, time, areLong }: Microbatch): TokenBatch {
  const tokens = new Int32Array(indices.length * time);
  indices.forEach((index, row) => {
    const sequence = sequences[index]!;
    tokens.set(sequence.tokens.subarray(0, Math.min(time, sequence.tokens.length - 1)), row * time);
  });
  return { tokens, rows: indices.length, time, areLong };
}

/** Returns the positions that predict trained tokens: entry i of a sequence is predicted at position i - 1. */
export function headRowsOf(sequences: readonly TokenSequence[], { indices, time }: Microbatch): HeadRows {
  const positions: number[] = [];
  const targets: number[] = [];
  indices.forEach((index, row) => {
    const { tokens, mask } = sequences[index]!;
    for (let i = 1; i < tokens.length; i++) {
      if (!mask[i]) continue;
      positions.push(row * time + i - 1);
      targets.push(tokens[i]!);
    }
  });
  return { positions: Int32Array.from(positions), targets: Int32Array.from(targets) };
}

/** Distributes values of head rows to their sequences; NaN for untrained tokens. */
export function splitBySequence(
  sequences: readonly TokenSequence[],
  { indices }: Microbatch,
  values: Float32Array,
): Float64Array[] {
  let next = 0;
  return indices.map((index) => {
    const { tokens, mask } = sequences[index]!;
    const ofSequence = new Float64Array(tokens.length).fill(NaN);
    for (let i = 1; i < tokens.length; i++) if (mask[i]) ofSequence[i] = values[next++]!;
    return ofSequence;
  });
}
