import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createRepetitionDetector } from "./repetition.js";

function endsInRepetition(tokens: number[], min: number, max: number, count: number): boolean {
  for (let size = Math.max(1, min); size <= max && size * count <= tokens.length; size++) {
    const pattern = tokens.slice(-size).join();
    const repeats = Array.from({ length: count }, (_, i) =>
      tokens.slice(tokens.length - (i + 1) * size, tokens.length - i * size).join(),
    );
    if (repeats.every((each) => each === pattern)) return true;
  }
  return false;
}

test("a pattern is reported with the token that completes its last repetition", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 1 }), { maxLength: 30 }),
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 2, max: 4 }),
      (tokens, minPatternSize, more, minCount) => {
        const maxPatternSize = minPatternSize + more;
        const repeats = createRepetitionDetector({ minPatternSize, maxPatternSize, minCount }, tokens.length);
        tokens.forEach((token, i) => {
          const wanted = endsInRepetition(tokens.slice(0, i + 1), minPatternSize, maxPatternSize, minCount);
          expect(repeats(token)).toBe(wanted);
        });
      },
    ),
    { numRuns: 400 },
  );
});

test("a huge pattern size has no cost", () => {
  const repeats = createRepetitionDetector({ minPatternSize: 1, maxPatternSize: 2 ** 50, minCount: 2 }, 10);
  expect([1, 2, 3, 1, 2, 3].map(repeats)).toEqual([false, false, false, false, false, true]);
});
