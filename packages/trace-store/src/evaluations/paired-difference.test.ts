import { describe, expect, test } from "vitest";
import { differenceOf, pairedDifference, studentQuantile } from "./paired-difference.js";

test("quantiles of Student's distribution are those of the tables", () => {
  const table = { 1: 12.706, 2: 4.303, 4: 2.776, 5: 2.57, 9: 2.262, 10: 2.228, 20: 2.086, 30: 2.042, 100: 1.984 };
  for (const [degrees, quantile] of Object.entries(table))
    expect(studentQuantile(Number(degrees))).toBeCloseTo(quantile, 2);
  expect(studentQuantile(1e6)).toBeCloseTo(1.95997, 4);
});

describe("the difference of two runs", () => {
  test("is that of the rows that both have, with the interval of the paired t-test", () => {
    // Differences 0.1, 0.3, -0.1, 0.1: mean 0.1, standard deviation 0.16330, t(3) = 3.18245.
    const base = [0.5, 0.2, 0.9, Number.NaN, 0.4, 1];
    const other = [0.6, 0.5, 0.8, 0.7, 0.5, Number.NaN];
    const found = pairedDifference(base, other);
    expect(found).toMatchObject({ rows: 4, higher: 3, lower: 1, equal: 0 });
    expect(found?.base_mean).toBeCloseTo(0.5, 12);
    expect(found?.mean).toBeCloseTo(0.6, 12);
    expect(found?.difference).toBeCloseTo(0.1, 12);
    expect(found?.low).toBeCloseTo(0.1 - 0.259847, 5);
    expect(found?.high).toBeCloseTo(0.1 + 0.259847, 5);
  });

  test("has no interval with one row, one of no width where all rows differ alike, and is none without a row", () => {
    expect(pairedDifference([1], [0])).toMatchObject({ rows: 1, difference: -1, low: null, high: null, lower: 1 });
    expect(pairedDifference([1, 1, 1], [0, 0, 0])).toMatchObject({ difference: -1, low: -1, high: -1 });
    expect(pairedDifference([1, Number.NaN], [Number.NaN, 1])).toBeUndefined();
  });

  test("is nothing where only the rounding of means differs", () => {
    expect(differenceOf(0.3, 0.1 + 0.2)).toBe(0);
    expect(differenceOf(0.3, 0.300001)).not.toBe(0);
  });
});
