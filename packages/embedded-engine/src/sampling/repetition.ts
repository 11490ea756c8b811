import type { GenerateRequest } from "@heddle/training";

/** Adds a token. Returns true if the tokens so far end with a pattern that was repeated often enough. */
export type RepetitionDetector = (token: number) => boolean;

/**
 * Detects a pattern of `minPatternSize` to `maxPatternSize` tokens that is repeated `minCount` times at the end.
 * Counts, per size, how many of the last tokens equal the token `size` before them. A pattern longer than `maxTokens /
 * minCount` cannot be repeated often enough.
 */
export function createRepetitionDetector(
  { minPatternSize, maxPatternSize, minCount }: NonNullable<GenerateRequest["repetitionDetection"]>,
  maxTokens: number,
): RepetitionDetector {
  const minSize = Math.max(1, minPatternSize);
  const maxSize = Math.min(maxPatternSize, Math.floor(maxTokens / minCount));
  const runs = new Int32Array(Math.max(0, maxSize + 1));
  const tokens: number[] = [];
  return (token) => {
    let found = false;
    for (let size = minSize; size <= maxSize && size <= tokens.length; size++) {
      const run = tokens[tokens.length - size] === token ? (runs[size] ?? 0) + 1 : 0;
      runs[size] = run;
      if (run >= size * (minCount - 1)) found = true;
    }
    tokens.push(token);
    return found;
  };
}
