import { expect, test } from "vitest";
import { closestName } from "./closest-name.js";

test.each([
  ["limt", "limit"],
  ["LIMIT", "limit"],
  ["sortby", "sort_by"],
  ["lmiit", "limit"],
  ["ilmti", undefined],
  ["x", undefined],
  ["limit".repeat(100_000), undefined],
])("%.20s means %s", (given, meant) => {
  expect(closestName(given, ["limit", "offset", "sort_by"])).toBe(meant);
});

test("without names there is none", () => {
  expect(closestName("limit", [])).toBeUndefined();
});
