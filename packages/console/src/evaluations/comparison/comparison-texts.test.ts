import { expect, test } from "vitest";
import { halfText, isNoise, letterOf, signedText, valueText } from "./difference-text.js";
import { expectedOf, preview } from "./row-contents.js";

test("differences have their sign, and are noise where the interval has 0 or there is none", () => {
  expect([0.03, -0.7, 0, 1 / 3].map(signedText)).toEqual(["+0.03", "−0.7", "0", "+0.333"]);
  expect(halfText({ low: 0.01, high: 0.05 })).toBe("±0.02");
  expect(halfText({ low: null, high: null })).toBe("");
  expect(
    [
      { low: 0.01, high: 0.05 },
      { low: -0.01, high: 0.05 },
      { low: null, high: null },
    ].map(isNoise),
  ).toEqual([false, true, true]);
  expect([0, 1, 3].map(letterOf)).toEqual(["A", "B", "D"]);
});

test("booleans are marks, those of several trials a share", () => {
  expect(valueText(1, "binary", 3)).toBe("✓");
  expect(valueText(0, "binary", 1)).toBe("✗");
  expect(valueText(2 / 3, "binary", 3)).toBe("2 of 3 ✓");
  // One of three trials has no score.
  expect(valueText(0.5, "binary", 3)).toBe("0.5 ✓");
  expect(valueText(1, "continuous", 1)).toBe("1");
});

test("a row is shown in one line, without what is expected, which comes beside it", () => {
  const row = '{"question": "Why?", "tags": ["a"], "expected": "24 days"}';
  expect(expectedOf(row)).toEqual({ name: "expected", value: '"24 days"' });
  expect(preview(row, "expected")).toBe('question: Why? · tags: ["a"]');
  expect(preview('{"question": "Why?", "answer": 1.0}', "answer")).toBe("Why?");
  expect([preview('"a text"'), preview("1.0"), preview("[1, 2]"), preview("{}")]).toEqual([
    "a text",
    "1.0",
    "[1, 2]",
    "{}",
  ]);
  expect([expectedOf('"text"'), expectedOf("{}")]).toEqual([undefined, undefined]);
  expect(preview(`"${"x".repeat(1_000_000)}"`)).toHaveLength(200);
});
