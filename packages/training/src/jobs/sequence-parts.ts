import type { TokenSequence } from "../port.js";

/** Tokens of the sequences that are scored at a time. The same in every run, so that the results are the same. */
const partTokens = 32_768;

/** Divides sequences into parts that a trainer scores one after another. */
export function sequenceParts(sequences: readonly TokenSequence[]): TokenSequence[][] {
  const parts: TokenSequence[][] = [];
  let free = 0;
  for (const { tokens, mask } of sequences) {
    free -= tokens.length;
    if (free < 0) {
      parts.push([]);
      free = partTokens - tokens.length;
    }
    parts.at(-1)?.push({ tokens, mask });
  }
  return parts;
}
