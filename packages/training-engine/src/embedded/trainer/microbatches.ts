import { EngineError } from "../../engine-error.js";
import type { TokenSequence } from "../../port.js";
import type { BatchLimits } from "./batch-limits.js";
import type { HeadRows, TokenBatch } from "./network.js";

/** Sequences that run together. */
export interface Microbatch {
  /** Of the sequences that were given. */
  indices: number[];
  /** The length they are padded to. */
  time: number;
  /** Whether the way back computes the values of each layer again, because all of them would not fit the memory. */
  recompute: boolean;
  /** Who computes it; 0 is the trainer's own thread. */
  worker: number;
}

/** Lengths are rounded up to this, so that rows of a batch begin where vector instructions like it. */
const lengthMultiple = 16;

/** Fewer tokens than this are not worth a batch of their own. */
const minTokens = 256;

/**
 * Packs sequences of like length together, longest first, such that each batch fits, and deals the batches out to the lanes
 * that the work is worth. Sequences without a trained token are left out, and so is everything after the last trained one. The
 * same sequences and limits always give the same batches. Fails with `too_large` when a sequence alone would not fit.
 */
export function planMicrobatches(sequences: readonly TokenSequence[], limits: BatchLimits): Microbatch[] {
  const sorted = sequences
    .map(({ mask }, index) => ({ index, time: Math.ceil(mask.lastIndexOf(1) / lengthMultiple) * lengthMultiple }))
    .filter(({ time }) => time > 0)
    .toSorted((a, b) => b.time - a.time || a.index - b.index);
  const all = sorted.reduce((sum, { time }) => sum + time, 0);
  const tokensOfWorkers = Array.from({ length: limits.workersFor(all) }, () => 0);
  const maxTokens = Math.max(minTokens, Math.ceil(all / tokensOfWorkers.length));
  const batches: Microbatch[] = [];
  for (const { index, time } of sorted) {
    const last = batches.at(-1);
    const rows = (last?.indices.length ?? 0) + 1;
    if (last && rows * last.time <= maxTokens && limits.fits(rows, last.time)) last.indices.push(index);
    else batches.push({ indices: [index], time, recompute: mustRecompute(limits, index, time), worker: 0 });
  }
  for (const batch of batches) {
    batch.worker = tokensOfWorkers.indexOf(Math.min(...tokensOfWorkers));
    tokensOfWorkers[batch.worker]! += batch.indices.length * batch.time;
  }
  return batches;
}

function mustRecompute(limits: BatchLimits, index: number, time: number): boolean {
  const mode = limits.modeOf(1, time);
  if (mode === "too large") {
    throw new EngineError(
      "too_large",
      `training on ${time} tokens at once takes ${limits.minBytes(1, time)} bytes, and ${limits.activationBytes} are left beside the weights`,
      `sequences.${index}.tokens`,
    );
  }
  return mode === "recompute";
}

/** Tokens of a microbatch as the model reads them: without each sequence's last, which nothing follows. */
export function batchOf(sequences: readonly TokenSequence[], { indices, time }: Microbatch): TokenBatch {
  const tokens = new Int32Array(indices.length * time);
  indices.forEach((index, row) => {
    const sequence = sequences[index]!;
    tokens.set(sequence.tokens.subarray(0, Math.min(time, sequence.tokens.length - 1)), row * time);
  });
  return { tokens, rows: indices.length, time };
}

/** Where trained tokens are predicted: entry i of a sequence by the position before it. */
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

/** Values of all head rows, given back to their sequences; NaN where no token is trained. */
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
