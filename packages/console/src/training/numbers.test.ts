import { expect, test } from "vitest";
import { formatNumber } from "./numbers.js";

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
