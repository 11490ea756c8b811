import { expect, test } from "vitest";
import { bumpBetween, larger, parseChangeset } from "./changesets.js";

test("a changeset names packages and bumps, in any quotes, and has one summary", () => {
  const text = `---
"@heddle/client": minor
'@heddle/spec': patch
heddle-x: major
---

Read calls as a stream.

---
More.
`;
  expect(parseChangeset(text)).toEqual({
    bumps: { "@heddle/client": "minor", "@heddle/spec": "patch", "heddle-x": "major" },
    summary: "Read calls as a stream.\n\n---\nMore.",
  });
});

test("an empty changeset asks for nothing", () => {
  expect(parseChangeset("---\n---\n\n")).toEqual({ bumps: {}, summary: "" });
});

test("the larger bump wins, none loses to all", () => {
  expect(larger("minor", "patch")).toBe("minor");
  expect(larger("patch", "major")).toBe("major");
  expect(larger(undefined, "patch")).toBe("patch");
  expect(larger(undefined, undefined)).toBeUndefined();
});

test("the bump between two versions is known", () => {
  expect(bumpBetween("0.1.0", "0.2.0")).toBe("minor");
  expect(bumpBetween("0.1.4", "1.0.0")).toBe("major");
  expect(bumpBetween("0.1.0", "0.1.1")).toBe("patch");
  expect(bumpBetween("0.1.0", "0.1.0")).toBeUndefined();
  expect(bumpBetween("0.2.0", "0.1.9")).toBeUndefined();
});
