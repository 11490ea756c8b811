import { expect, it } from "vitest";
import { fewSpans } from "./time-spans.js";

const span = (from: number, to = from) => ({ from: BigInt(from), to: BigInt(to) });

it("joins spans that touch or lie within others, in any order", () => {
  expect(fewSpans([span(8, 9), span(1, 5), span(2, 3), span(5, 6)])).toEqual([span(1, 6), span(8, 9)]);
  expect(fewSpans([])).toEqual([]);
});

it("covers any number of spans with at most eight, joining those that are near", () => {
  const hour = 3_600_000_000;
  const spans = Array.from({ length: 100 }, (_, n) => span((n % 4) * hour + n, (n % 4) * hour + n + 1));
  expect(fewSpans(spans)).toEqual([0, 1, 2, 3].map((n) => span(n * hour + n, n * hour + 96 + n + 1)));
  const wide = Array.from({ length: 1000 }, (_, n) => span(n * n * hour));
  const few = fewSpans(wide);
  expect(few.length).toBeLessThanOrEqual(8);
  for (const { from } of wide) expect(few.some((one) => one.from <= from && from <= one.to)).toBe(true);
});
