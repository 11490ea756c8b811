import { expect, test } from "vitest";
import { filterOf, kindOf, refOf, tableOf } from "./kinds.js";

test("kinds, and the refs of what they hold", () => {
  expect([kindOf("ops"), kindOf("<script>"), kindOf(undefined)]).toEqual(["ops", "datasets", "datasets"]);
  expect(filterOf("objects").exclude_base_object_classes).toContain("Dataset");
  expect(refOf("a/b", "ops", "f", "1")).toBe("weave:///a/b/op/f:1");
  expect(tableOf("weave:///a/b/table/xyz")).toBe("xyz");
  expect([tableOf("weave:///a/b/object/xyz:1"), tableOf(undefined)]).toEqual([undefined, undefined]);
});
