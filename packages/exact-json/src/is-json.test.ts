import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isJson } from "./is-json.js";

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("a text is JSON when it can be parsed", () => {
  const pieces = [
    '{}[],:"\\ \t\n'.split(""),
    ['"a"', '"\\u00e4"', '"\\u00g4"', "\\n", "\\x", "0", "-", "01", "1.5", "1.", ".5", "1e5", "1E+", "-0", "true"],
    ["false", "null", "nul", "NaN", "Infinity", "\u0001", "\u00a0", "\ufeff", '{"a":', '"b":[]', "\ud800", "'a'"],
    ["\u0010\u0011", '"\\u\u0010\u0011\u0012\u0013"'],
  ];
  const piece = fc.constantFrom(...pieces.flat());
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (parts) => {
      const text = parts.join("");
      expect({ text, isJson: isJson(text) }).toEqual({ text, isJson: parses(text) });
    }),
    { numRuns: 2000 },
  );
  fc.assert(
    fc.property(
      fc.json(),
      fc.nat(),
      fc.constantFrom("", " ", ",", '"', "\\", "}", "]", "0"),
      (json, position, mark) => {
        const at = position % (json.length + 1);
        for (const text of [json, json.slice(0, at), json.slice(0, at) + mark + json.slice(at)]) {
          expect({ text, isJson: isJson(text) }).toEqual({ text, isJson: parses(text) });
        }
      },
    ),
  );
});

test("neither depth nor length matters", () => {
  expect(isJson(`${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`)).toBe(true);
  expect(isJson(`"${"\\n".repeat(1_000_000)}"`)).toBe(true);
  expect(isJson(`[${"{},".repeat(1_000_000)}1]`)).toBe(true);
});
