import { expect, test } from "vitest";
import { createGenerator } from "./generator.js";

const draws = (seed: number, count: number) => {
  const generator = createGenerator(seed);
  return Array.from({ length: count }, () => generator());
};

test("a seed always gives the same numbers", () => {
  expect(draws(7, 3)).toEqual(draws(7, 3));
  // A seed must sample the same tokens in later versions.
  expect(draws(0, 2)).toMatchInlineSnapshot(`
    [
      0.41331402318026844,
      0.9325141158419846,
    ]
  `);
  expect(draws(2 ** 32 - 1, 2)).toMatchInlineSnapshot(`
    [
      0.9664099408753211,
      0.8385468517550632,
    ]
  `);
});

test("numbers are spread evenly over [0, 1)", () => {
  const counts = Array.from({ length: 20 }, () => 0);
  const all = draws(3, 100_000);
  expect(all.every((draw) => draw >= 0 && draw < 1)).toBe(true);
  for (const draw of all) counts[Math.floor(draw * 20)]!++;
  // Five standard deviations of 69.
  for (const count of counts) expect(Math.abs(count - 5000)).toBeLessThan(345);
});

test("streams of adjacent seeds are uncorrelated", () => {
  const size = 2000;
  for (let seed = 0; seed < 20; seed++) {
    const [a, b] = [draws(seed, size), draws(seed + 1, size)];
    const correlation = a.reduce((sum, value, i) => sum + (value - 0.5) * (b[i]! - 0.5) * 12, 0) / size;
    expect(Math.abs(correlation)).toBeLessThan(0.12);
  }
});
