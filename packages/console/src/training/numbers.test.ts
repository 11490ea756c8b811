import { expect, test } from "vitest";
import { formatNumber, formatPlace } from "./numbers.js";

test.each([
  [0, "0"],
  [0.71234, "0.712"],
  [-1.4, "−1.4"],
  [0.0000204, "2.04e-5"],
  [0.0001, "1e-4"],
  [123_456, "123000"],
  [1e9, "1e9"],
  [Number.NaN, "NaN"],
  [-Infinity, "−∞"],
])("%s is shown as %s", (value, text) => {
  expect(formatNumber(value)).toBe(text);
});

test("a place on an axis keeps the digits of a whole number", () => {
  expect([1234, 0.71234].map(formatPlace)).toEqual(["1,234", "0.712"]);
});
