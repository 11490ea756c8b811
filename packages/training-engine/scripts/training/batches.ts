import type { CrossEntropySequence } from "../../src/port.js";
import { trainingExamples } from "../corpus/corpus.js";
import type { Encoder } from "./encode.js";
import { RowPacker } from "./rows.js";

/** Tokens of one optimizer step at most. */
const batchTokens = 1024;
const contextLength = 1024;
/** One example of so many goes into rows as long as the context, so that all positions are seen. */
const longShare = 24;
/** Batches until the examples begin anew from a seed of their own. */
const chunk = 500;

/** The batches from step `from` (0 is the first) on, without end: the same for a seed, wherever one begins. */
export function* batches(encode: Encoder, seed: number, from: number): IterableIterator<CrossEntropySequence[], never> {
  for (let at = Math.floor(from / chunk); ; at++) {
    let step = at * chunk;
    for (const batch of chunkOfBatches(encode, seed + 1000 * at)) {
      if (step++ >= from) yield batch;
      if (step === (at + 1) * chunk) break;
    }
  }
}

/** Rows of 128 cost least, as attention grows with their length; what does not fit goes into longer ones. */
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
