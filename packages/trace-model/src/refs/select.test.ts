import { expect, test } from "vitest";
import { selectPath } from "./select.js";

const value =
  ' { "a" : { "x" : [ 1.0 , {"y":18446744073709551616} ] } , "dup":1, "dup": 2.50, "d.o\\u0074":"\\ud83d" }';

test.each([
  [
    [
      ["attr", "a"],
      ["key", "x"],
      ["index", "0"],
    ],
    "1.0",
  ],
  [
    [
      ["attr", "a"],
      ["attr", "x"],
      ["index", "1"],
      ["key", "y"],
    ],
    "18446744073709551616",
  ],
  [[["attr", "a"]], '{ "x" : [ 1.0 , {"y":18446744073709551616} ] }'],
  [[["key", "dup"]], "2.50"],
  [[["key", "d.ot"]], '"\\ud83d"'],
  [[["attr", "nothing"]], undefined],
  [
    [
      ["attr", "a"],
      ["index", "0"],
    ],
    undefined,
  ],
  [
    [
      ["attr", "a"],
      ["attr", "x"],
      ["index", "2"],
    ],
    undefined,
  ],
  [
    [
      ["attr", "dup"],
      ["attr", "x"],
    ],
    undefined,
  ],
  [[["id", "a"]], undefined],
] as const)("%j selects %s", (steps, selected) => {
  expect(
    selectPath(
      value,
      steps.map(([edge, at]) => ({ edge, value: at })),
    ),
  ).toBe(selected);
});

test("no steps select the whole text", () => {
  expect(selectPath(value, [])).toBe(value);
});
