import { expect, test } from "vitest";
import { withMembers } from "./edit.js";

test.each([
  ["{}", { a: "1" }, '{"a":1}'],
  [" { } ", { a: "1", b: "2" }, ' { "a":1,"b":2} '],
  ['{"x": 1.0 }', { a: "[]" }, '{"x": 1.0 ,"a":[]}'],
  ['{"b": 1.0, "a" : {"b":2}, "c":3}', { a: "9", b: "8" }, '{"b": 8, "a" : 9, "c":3}'],
  ['{"a":1,"a":2}', { a: "3" }, '{"a":1,"a":3}'],
  ['{"\\u0061":1, "b\\/c":2}', { a: "3", "b/c": "4" }, '{"\\u0061":3, "b\\/c":4}'],
  ['{"s":"}"}', { t: "1" }, '{"s":"}","t":1}'],
  ["null", { a: "1" }, '{"a":1}'],
  ['{"a":1}', {}, '{"a":1}'],
])("%s with %j", (text, members, result) => {
  expect(withMembers(text, members)).toBe(result);
});
