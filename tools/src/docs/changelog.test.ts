import { expect, test } from "vitest";
import { byKind, note, readReleases } from "./changelog.js";

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

test("released notes are read with their lines, versions and kinds, without those that only name versions", () => {
  const text = `# @heddle/a

## 1.1.0

### Minor Changes

- Reads JSON.

  - **Fast**: it is.

- Reads YAML.

### Patch Changes

- Needs \`@heddle/b\` 2.0.0.

## 1.0.0

### Major Changes

- Begins.
`;
  expect(readReleases(text).map(({ version, bump, summary }) => [version, bump, summary])).toEqual([
    ["1.1.0", "minor", "Reads JSON.\n\n- **Fast**: it is."],
    ["1.1.0", "minor", "Reads YAML."],
    ["1.0.0", "major", "Begins."],
  ]);
});
