import * as fc from "fast-check";
import { expect, test } from "vitest";
import { pythonFloat } from "./python-number.js";

/** As Python's documentation defines `repr`: the shortest digits, with an exponent below 1e-4 and from 1e16 up. */
function repr(value: number): string {
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa = "0", power = "0"] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const padded = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${padded}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

test("floats are written as Python writes them", () => {
  const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
  const usual = fc
    .tuple(fc.integer(), fc.integer({ min: -20, max: 20 }))
    .map(([digits, power]) => digits * 10 ** power);
  const edges = fc.constantFrom(0, -0, 1e-4, 0.00009999999999999999, 1e16, 9999999999999998, 1e22, 5e-324, -1.5e-7);
  fc.assert(
    fc.property(fc.oneof(finite, usual, edges), (value) => {
      expect(pythonFloat(value)).toBe(repr(value));
      expect(Number(pythonFloat(value))).toBe(value);
    }),
    { numRuns: 2000 },
  );
  expect([1e16, 1e-7, 1234.5, 3, -0, 0.0001].map(pythonFloat)).toEqual([
    "1e+16",
    "1e-07",
    "1234.5",
    "3.0",
    "-0.0",
    "0.0001",
  ]);
});
