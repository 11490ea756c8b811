import { expect, test } from "vitest";
import { keyMistake } from "./key-mistake.js";

test("says what is wrong with a text that cannot be a key, before it is sent", () => {
  expect(keyMistake(" ")).toBe("Enter a key.");
  expect(keyMistake("abc")).toBe("A key has at least 40 characters; this one has 3.");
  expect(keyMistake(`Bearer ${"a".repeat(40)}`)).toBe("Enter the key alone, without what precedes it in a header.");
  expect(keyMistake(`${"a".repeat(39)}-a`)).toBe(
    "A key has letters, digits and _ only; this one has “-” at position 40.",
  );
  expect(keyMistake(`a b${"a".repeat(40)}`)).toContain("a space at position 2");
  expect(keyMistake(` ${"a".repeat(40)}\n`)).toBeUndefined();
});
