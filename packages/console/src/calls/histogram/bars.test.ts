import { expect, test } from "vitest";
import { barsOf, segmentsOf, usedPart } from "./bars.js";
import type { Bar } from "./bars.js";

const counted = (...counts: number[]): Bar[] =>
  counts.map((success, index) => ({
    from: index,
    until: index + 1,
    count: success,
    counts: { success, error: 0, running: 0, descendant_error: 0 },
  }));

test("bars are the buckets, cut to the range that was asked for", () => {
  const response = {
    total: { values: { count: 6 } },
    groups: [
      { key: ["success"], values: { count: 4 }, series: { count: [1, 3] } },
      { key: ["error"], values: { count: 2 }, series: { count: [2, null] } },
    ],
    time: { starts: ["2026-11-26T09:00:00.000Z", "2026-11-26T10:00:00.000Z"], seconds: 3600 },
    exact: true,
    seq: "1",
  };
  const at = (time: string) => Date.parse(`2026-11-26T${time}:00Z`);
  const bars = barsOf(response, { from: at("09:30"), until: at("10:15") });
  expect(bars.map(({ from, until, count }) => [from, until, count])).toEqual([
    [at("09:30"), at("10:00"), 3],
    [at("10:00"), at("10:15"), 3],
  ]);
  expect(bars[0]?.counts).toEqual({ success: 1, error: 2, running: 0, descendant_error: 0 });
});

test("what is looked at closer is the part with calls, unless that is half of it", () => {
  expect(usedPart(counted(0, 0, 0, 0, 2, 0, 1, 0))).toEqual({ from: 4, until: 7 });
  expect(usedPart(counted(1, 0, 0, 0, 2))).toBeUndefined();
  expect(usedPart(counted(0, 0))).toBeUndefined();
});

test("one failed call among thousands is drawn, within the height", () => {
  const bar = {
    from: 0,
    until: 1,
    count: 10_001,
    counts: { success: 10_000, error: 1, running: 0, descendant_error: 0 },
  };
  const segments = segmentsOf(bar, 10_001);
  expect(segments.map(({ status }) => status)).toEqual(["success", "error"]);
  for (const { y, height } of segments) {
    expect(y).toBeGreaterThanOrEqual(0);
    expect(height).toBeGreaterThan(0);
  }
});
