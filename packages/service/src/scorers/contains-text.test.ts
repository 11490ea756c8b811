import { array, assert, constantFrom, property } from "fast-check";
import { expect, test } from "vitest";
import { containsText } from "./contains-text.js";

test("it finds what the engine finds, in every position and for parts of every length", () => {
  const pieces = array(constantFrom("ab", "a", "b", "x".repeat(1200)), { maxLength: 12 });
  assert(
    property(pieces, pieces, (text, part) => {
      const [whole, searched] = [text.join(""), part.join("")];
      return containsText(whole, searched) === whole.includes(searched);
    }),
  );
  const long = "-".repeat(600_000);
  for (const part of ["needle", `needle${"y".repeat(2000)}`]) {
    for (const at of [0, 1, 262_140, 262_144, 262_150, 524_285, 599_999]) {
      const text = `${long.slice(0, at)}${part}${long.slice(at)}`;
      expect([at, containsText(text, part), containsText(text, `${part}-${part}`)]).toEqual([at, true, false]);
    }
  }
});
