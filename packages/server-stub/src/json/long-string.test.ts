import * as fc from "fast-check";
import { expect, test } from "vitest";
import { LongString } from "./long-string.js";

test("a string is the same read in parts, of whatever escapes it is made", () => {
  const pieces = fc.array(fc.constantFrom("a", "\\\\", '\\"', "\\n", "\\u0041", "\\ud83d\\ude00", "\u00e4", "u"), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 12 }), (parts, length) => {
      const inside = parts.join("");
      const long = new LongString(`["${inside}"]`, 2, 2 + inside.length, length);
      let string = long.read();
      for (let reads = 0; string === undefined; reads++) {
        expect(reads).toBeLessThan(inside.length);
        string = long.read();
      }
      expect(string).toBe(JSON.parse(`"${inside}"`));
    }),
    { numRuns: 2000 },
  );
});
