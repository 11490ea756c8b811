import { expect, test } from "vitest";
import { byKind, note } from "./changelog.js";

test("a note of several lines is one item, which names its packages after its first line", () => {
  expect(
    note({ summary: "Reads JSON.\n\n- **Fast**: it is.", bumps: { "@heddle/a": "minor", "@heddle/b": "patch" } }),
  ).toBe("- Reads JSON. (@heddle/a, @heddle/b)\n\n  - **Fast**: it is.");
});

test("notes are sorted by what kind of change they are about, what breaks first", () => {
  expect(
    byKind([
      { summary: "Faster.", bumps: { a: "patch" } },
      { summary: "Gone.", bumps: { a: "patch", b: "major" } },
      { summary: "Here.", bumps: { a: "minor" } },
      { summary: "Too.", bumps: { b: "minor" } },
    ]),
  ).toEqual([
    "### What breaks",
    "- Gone. (a, b)",
    "### What is new",
    "- Here. (a)\n- Too. (b)",
    "### What is repaired",
    "- Faster. (a)",
  ]);
});
