import type { CrossEntropySequence } from "@heddle/training";
import type { EncodedExample } from "./encode.js";

/** Weight of a token of the prompt relative to one of the answer. */
const promptWeight = 0.1;

interface Row {
  examples: EncodedExample[];
  space: number;
}

/** Packs complete examples into rows of at most `length` tokens. */
export class RowPacker {
  #rows: Row[] = [];

  constructor(
    readonly length: number,
    readonly rowsPerBatch: number,
  ) {}

  /** Adds the example to the row with the least remaining space. Returns a batch if no row had space for it. */
  add(example: EncodedExample): CrossEntropySequence[] | undefined {
    const needed = example.tokens.length;
    if (needed > this.length) throw new RangeError(`an example of ${needed} tokens in rows of ${this.length}`);
    let best: Row | undefined;
    for (const row of this.#rows) if (row.space >= needed && row.space < (best?.space ?? Infinity)) best = row;
    if (!best) this.#rows.push((best = { examples: [], space: this.length }));
    best.examples.push(example);
    best.space -= needed;
    if (this.#rows.length <= this.rowsPerBatch) return undefined;
    const batch = this.#rows.slice(0, this.rowsPerBatch).map((row) => asSequence(row.examples));
    this.#rows = this.#rows.slice(this.rowsPerBatch);
    return batch;
  }
}

function asSequence(examples: EncodedExample[]): CrossEntropySequence {
  const tokens = Int32Array.from(examples.flatMap((example) => example.tokens));
  const mask = new Uint8Array(tokens.length).fill(1);
  const weights = new Float64Array(tokens.length).fill(1);
  let start = 0;
  for (const example of examples) {
    // The first token of an example cannot be predicted.
    mask[start] = 0;
    weights.fill(promptWeight, start, start + example.answer);
    start += example.tokens.length;
  }
  return { tokens, mask, weights };
}

/** Returns the divisor of the losses of these sequences for their mean. */
export function totalWeight(sequences: CrossEntropySequence[]): number {
  let total = 0;
  for (const { mask, weights } of sequences) {
    for (const [at, trained] of mask.entries()) total += trained * (weights?.[at] ?? 1);
  }
  return total;
}
