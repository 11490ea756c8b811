import { expect, test } from "vitest";
import { timeLeft } from "./time-left.js";

test("the rest takes as long as the items before, and a pause does not count", () => {
  expect(timeLeft([1000, 1000], 5)).toBeUndefined();
  expect(timeLeft([1000, 600_000, 2000], 5)).toBe(10_000);
  expect(timeLeft([1000, 1000, 1000], 0)).toBeUndefined();
  expect(timeLeft([...Array<number>(20).fill(60_000), ...Array<number>(20).fill(1000)], 2)).toBe(2000);
});
