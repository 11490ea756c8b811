import { expect, test } from "vitest";
import { counted, formatAgo, formatBytes, formatCount, formatDuration } from "./format.js";

test("durations have one unit and three digits, and two units from a minute on", () => {
  const texts = [0, 0.4, 812, 999.4, 999.6, 4096, 59_940, 59_960, 372_000, 7_500_000, 273_600_000, -4096].map(
    formatDuration,
  );
  expect(texts).toEqual([
    "0 ms",
    "0.4 ms",
    "812 ms",
    "999 ms",
    "1.00 s",
    "4.10 s",
    "59.9 s",
    "1 m",
    "6 m 12 s",
    "2 h 5 m",
    "3 d 4 h",
    "−4.10 s",
  ]);
});

test("times are told from now, and from a week on by their date", () => {
  const now = new Date(2026, 2, 10, 12).getTime();
  const texts = [0, 41, 60, 7200, 86_400 * 2, 86_400 * 8].map((seconds) => formatAgo(now - seconds * 1000, now));
  expect(texts).toEqual(["now", "41 s ago", "1 min ago", "2 h ago", "2 d ago", "2026-03-02"]);
  // The clock of the service may be ahead.
  expect(formatAgo(now + 5000, now)).toBe("now");
});

test("counts and sizes", () => {
  expect([formatCount(1_204_551), counted(1, "call"), counted(1200, "call")]).toEqual([
    "1,204,551",
    "1 call",
    "1,200 calls",
  ]);
  expect([999, 1234, 22_000_000].map(formatBytes)).toEqual(["999 B", "1.23 kB", "22 MB"]);
});
