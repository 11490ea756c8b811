import { expect, test } from "vitest";
import { limitOf, offsetOf, piecesIn, rowsAt } from "./pieces.js";

test("pieces follow each other, the first one short", () => {
  expect([0, 1, 2, 3].map(offsetOf)).toEqual([0, 200, 10_200, 20_200]);
  for (const at of [0, 1, 2]) expect(offsetOf(at) + limitOf(at)).toBe(offsetOf(at + 1));
});

test("a range is in the pieces that it touches, as far as there are rows", () => {
  const total = 25_000;
  expect(piecesIn({ first: 0, end: 200 }, total)).toEqual([0]);
  expect(piecesIn({ first: 199, end: 201 }, total)).toEqual([0, 1]);
  expect(piecesIn({ first: 10_200, end: 10_201 }, total)).toEqual([2]);
  expect(piecesIn({ first: 24_990, end: 90_000 }, total)).toEqual([3]);
  expect(piecesIn({ first: 0, end: 50 }, 0)).toEqual([]);
});

test("rows of a piece that was not read are absent, those after it are in their places", () => {
  const rows = rowsAt([
    [0, ["a"]],
    [1, undefined],
    [2, ["b", "c"]],
  ]);
  expect([...rows]).toEqual([
    [0, "a"],
    [10_200, "b"],
    [10_201, "c"],
  ]);
});
