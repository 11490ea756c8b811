import { expect, test } from "vitest";
import { railScale } from "./rail-scale.js";

const bars = [
  { from: 0, until: 100, count: 10 },
  { from: 100, until: 200, count: 0 },
  { from: 200, until: 300, count: 30 },
];

test("a place of the rail is a share of the calls, so that times without any take no place", () => {
  const scale = railScale(bars);
  expect([0, 0.375, 0.75, 0.875, 1].map((place) => scale?.timeAt(place))).toEqual([300, 250, 200, 50, 0]);
  expect([300, 250, 200, 150, 100, 50, 0].map((time) => scale?.placeOf(time))).toEqual([
    0, 0.375, 0.75, 0.75, 0.75, 0.875, 1,
  ]);
});

test("what is outside of it is at its ends, and without calls there is none", () => {
  const scale = railScale(bars);
  expect([scale?.timeAt(-1), scale?.timeAt(2), scale?.placeOf(1000), scale?.placeOf(-1)]).toEqual([300, 0, 0, 1]);
  expect(railScale([{ from: 0, until: 1, count: 0 }])).toBeUndefined();
  expect(railScale([])).toBeUndefined();
});
