import { expect, test } from "vitest";
import { originalText, storedText } from "./stored-text.js";

test.each([
  "",
  "plain",
  "日本語 🙂",
  "100 %",
  "%0000",
  "nul\0",
  "\ud800lone",
  "lone\udc00",
  "line\nbreak",
  "\0%\udfff",
])("%j comes back as it was, and holds nothing that a database refuses", (text) => {
  const stored = storedText(text);
  expect(originalText(stored)).toBe(text);
  expect(stored).not.toMatch(/[\0\p{Surrogate}]/u);
});

test("different texts stay different", () => {
  expect(new Set(["\0", "%0000", "%", "%0025", "\ud800", "\ud801", "\ufffd"].map(storedText)).size).toBe(7);
});
