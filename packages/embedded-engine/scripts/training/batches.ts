import type { CrossEntropySequence } from "@heddle/training";
import { trainingExamples } from "../corpus/corpus.js";
import type { Encoder } from "./encode.js";
import { RowPacker } from "./rows.js";

/** Maximum tokens of one optimizer step. */
const batchTokens = 1024;
const contextLength = 1024;
/** One of this many examples is packed into rows as long as the context, so that all positions are trained. */
const longShare = 24;
/** Batches after which the examples restart with another seed. */
const chunk = 500;

/** The batches from step `from` (0 is the first) on, indefinitely. They depend only on the seed and the step. */
export function* batches(encode: Encoder, seed: number, from: number): IterableIterator<CrossEntropySequence[], never> {
  for (let at = Math.floor(from / chunk); ; at++) {
    let step = at * chunk;
    for (const batch of chunkOfBatches(encode, seed + 1000 * at)) {
      if (step++ >= from) yield batch;
      if (step === (at + 1) * chunk) break;
    }
  }
}

/** Rows of 128 cost least, as attention grows with their length; longer examples are packed into longer ones. */
function* chunkOfBatches(encode: Encoder, seed: number): IterableIterator<CrossEntropySequence[]> {
  const packers = [128, 256, 512].map((length) => new RowPacker(length, batchTokens / length));
  const long = new RowPacker(contextLength, batchTokens / contextLength);
  let count = 0;
  for (const { example } of trainingExamples(seed)) {
    const encoded = encode(example);
    const fitting = packers.find(({ length }) => encoded.tokens.length <= length) ?? long;
    const batch = (++count % longShare === 0 ? long : fitting).add(encoded);
    if (batch) yield batch;
  }
}
