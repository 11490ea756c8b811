import { expect, test } from "vitest";
import { indentJson } from "../browser/indent-json.js";

test("JSON gains lines and keeps its numbers, strings and order", () => {
  expect(indentJson('{"b":1.0,"a":[12345678901234567890,{"x":"{,\\"}"}],"e":{},"f":[ ]}')).toBe(`{
  "b": 1.0,
  "a": [
    12345678901234567890,
    {
      "x": "{,\\"}"
    }
  ],
  "e": {},
  "f": []
}`);
});
