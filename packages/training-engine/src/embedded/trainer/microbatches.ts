import type { TokenSequence } from "../../port.js";
import type { HeadRows, TokenBatch } from "./network.js";

/** Sequences that run together, by their index in the objective, and the length they are padded to. */
export interface Microbatch {
  indices: number[];
  time: number;
}

/** Lengths are rounded up to this, so that rows of a batch begin where vector instructions like it. */
const step = 16;

/**
 * Packs sequences of like length together, longest first, such that each batch fits. Sequences without a trained token are
 * left out, and so is everything after the last trained one. The same sequences always give the same batches.
 */
export function planMicrobatches(
  sequences: readonly TokenSequence[],
  fits: (rows: number, time: number) => boolean,
): Microbatch[] {
  const lengths = sequences.map(({ mask }, index) => ({ index, length: mask.lastIndexOf(1) }));
  const sorted = lengths
    .filter(({ length }) => length > 0)
    .toSorted((a, b) => b.length - a.length || a.index - b.index);
  const batches: Microbatch[] = [];
  for (const { index, length } of sorted) {
    const last = batches.at(-1);
    if (last && fits(last.indices.length + 1, last.time)) last.indices.push(index);
    else batches.push({ indices: [index], time: Math.ceil(length / step) * step });
  }
  return batches;
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
export function perSequence(
  sequences: readonly TokenSequence[],
  { indices }: Microbatch,
  values: Float32Array,
): Float64Array[] {
  let next = 0;
  return indices.map((index) => {
    const { tokens, mask } = sequences[index]!;
    const own = new Float64Array(tokens.length).fill(NaN);
    for (let i = 1; i < tokens.length; i++) if (mask[i]) own[i] = values[next++]!;
    return own;
  });
}
