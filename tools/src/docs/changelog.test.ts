import { expect, test } from "vitest";
import { note } from "./changelog.js";

test("a note of several lines is one item, which names its packages after its first line", () => {
  expect(
    note({ summary: "Reads JSON.\n\n- **Fast**: it is.", bumps: { "@heddle/a": "minor", "@heddle/b": "patch" } }),
  ).toBe("- Reads JSON. (@heddle/a, @heddle/b)\n\n  - **Fast**: it is.");
});
