import type { GenerateRequest } from "../port.js";

/** Takes token after token; true when the tokens so far end with a pattern that was said often enough. */
export type RepetitionDetector = (token: number) => boolean;

/**
 * Watches for a pattern of `minPatternSize` to `maxPatternSize` tokens repeated `minCount` times in a row at the end. Per
 * size it counts how long each token has equalled the one `size` before it; no pattern longer than `maxTokens / minCount`
 * can ever be repeated enough.
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
