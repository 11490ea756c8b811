import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createStopStrings } from "./stop-strings.js";

const letters = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 });
const stops = fc.array(fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 3,
});

/** The match that ends first, the longest of those, by brute force. */
function firstMatch(text: string, stops: string[]) {
  for (let end = 1; end <= text.length; end++) {
    const found = stops.filter((stop) => text.slice(0, end).endsWith(stop)).toSorted((a, b) => b.length - a.length)[0];
    if (found !== undefined) return { stop: found, start: end - found.length, end };
  }
  return undefined;
}

test("a stop string is found for any division into pieces", () => {
  fc.assert(
    fc.property(fc.array(letters), stops, (pieces, stops) => {
      const watch = createStopStrings(stops);
      const match = pieces.map((piece) => watch.push(piece).match).find((found) => found !== undefined);
      expect(match).toEqual(firstMatch(pieces.join(""), stops));
    }),
    { numRuns: 500 },
  );
});

test("only text that could be part of a match is held back", () => {
  fc.assert(
    fc.property(fc.array(letters), stops, (pieces, stops) => {
      const watch = createStopStrings(stops);
      let text = "";
      for (const piece of pieces) {
        text += piece;
        const { match, release } = watch.push(piece);
        if (match) return;
        const begun = Array.from({ length: text.length }, (_, at) => at).find((at) =>
          stops.some((stop) => stop.startsWith(text.slice(at))),
        );
        expect(release).toBe(begun ?? text.length);
      }
    }),
    { numRuns: 500 },
  );
});

test("a long stop string costs no more per character than a short one", () => {
  const stop = `${"a".repeat(100_000)}b`;
  const watch = createStopStrings([stop]);
  expect(watch.push("a".repeat(200_000)).release).toBe(100_000);
  expect(watch.push("b").match).toEqual({ stop, start: 100_000, end: 200_001 });
});
