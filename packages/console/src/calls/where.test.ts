import { expect, test } from "vitest";
import { expressionOf, readWhere, withCondition, withoutCondition, writeWhere } from "./where.js";

test("conditions survive the address, whatever is in them, and what is none is left out", () => {
  const conditions = [
    { path: "inputs.user", operator: "=" as const, value: 'a "b" = ≠, c' },
    { path: "attributes.x.y", operator: "contains" as const, value: "" },
  ];
  expect(readWhere(writeWhere(conditions))).toEqual(conditions);
  for (const text of ["", "x", "{}", "[1]", '[["a"]]', '[["a","~","b"]]', '[["a","=",1]]', '[["","=","b"]]'])
    expect(readWhere(text)).toEqual([]);
  expect(readWhere(JSON.stringify(Array.from({ length: 500 }, () => ["a", "=", "b"])))).toHaveLength(20);
});

test("a condition is there once, and is taken away by its place", () => {
  const one = { path: "inputs.user", operator: "=" as const, value: "ada" };
  const other = { ...one, operator: "≠" as const };
  const both = withCondition(withCondition(undefined, one), other);
  expect(withCondition(both, one)).toBe(writeWhere([other, one]));
  expect(withoutCondition(both, 0)).toBe(writeWhere([other]));
  expect(withoutCondition(writeWhere([one]), 0)).toBeUndefined();
});

test("numbers compare by size, and are found as they were sent", () => {
  const field = { $getField: "output.n" };
  expect(expressionOf({ path: "output.n", operator: ">", value: "1.5" })).toEqual({ $gt: [field, { $literal: 1.5 }] });
  expect(expressionOf({ path: "output.n", operator: "=", value: "107505301260286111" })).toEqual({
    $eq: [field, { $literal: "107505301260286111" }],
  });
  expect(expressionOf({ path: "output.n", operator: "=", value: "1.0" })).toEqual({
    $in: [field, [{ $literal: "1.0" }, { $literal: "1" }]],
  });
});
