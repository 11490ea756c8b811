import { expect, test } from "vitest";
import { linkPlans } from "../json/plan.js";
import { withSuggestions } from "./unknown-keys.js";

const [plan] = linkPlans([{ properties: { limit: -1, sort_by: -1, filter: 1 } }, { properties: { op_names: -1 } }], {});
const messageOf = (...path: string[]) =>
  withSuggestions([{ loc: ["body", ...path], msg: "Unknown key", type: "extra_forbidden" }], plan)[0]?.msg;

test.each([
  ["limt", "limit"],
  ["limitt", "limit"],
  ["LIMIT", "limit"],
  ["lmiit", "limit"],
  ["sortby", "sort_by"],
  ["sortBy", "sort_by"],
  ["lim", "limit"],
  ["sort", "sort_by"],
  ["op_names", "filter.op_names"],
])("%s means %s", (given, meant) => {
  expect(messageOf(given)).toBe(`Unknown key; did you mean ${meant}?`);
});

test.each(["ilmti", "x", "li", "limit".repeat(100_000), "op_name"])("%.20s means nothing here", (given) => {
  expect(messageOf(given)).toBe("Unknown key");
});

test("the keys are those of the object that has the unknown one", () => {
  expect(messageOf("filter", "op_name")).toBe("Unknown key; did you mean op_names?");
  expect(messageOf("filter", "limt")).toBe("Unknown key");
});
