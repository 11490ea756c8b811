import { expect, test } from "vitest";
import { countValues } from "./json-values.js";
import { parseJson } from "./json-body.js";

test("values are counted without those inside of strings", () => {
  expect(countValues('{"a":[1,2,{"b":null}]}', 100)).toBe(8);
  expect(countValues(String.raw`["a,[{:\"\\",",\\\"["]`, 100)).toBe(3);
  expect(countValues('"open,,,', 100)).toBe(1);
  expect(countValues("[".repeat(1e6), 10)).toBe(11);
});

test("a text with too many values is refused before it is parsed", () => {
  expect(() => parseJson(`[${"0,".repeat(1000)}`, 1000, "the body")).toThrow(/at most 1000 values/);
  expect(() => parseJson("[", 1000, "the body")).toThrow("the body is not JSON");
  expect(parseJson('{"__proto__":1}', 10, "the body")).toEqual(JSON.parse('{"__proto__":1}'));
});
