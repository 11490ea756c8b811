import { expect, test } from "vitest";
import { fromSegment, toSegment } from "./path-segment.js";

test("every name has a part of an address of its own, none of which is a step in a path", () => {
  const names = [".", "..", "~", "~..", "...", "a", "a/../b", "~~.", "%2e%2e"];
  const segments = names.map(toSegment);
  expect(segments.map(fromSegment)).toEqual(names);
  expect(new Set(segments).size).toBe(names.length);
  for (const segment of segments) {
    const { pathname } = new URL(`http://heddle.example/console/a/${encodeURIComponent(segment)}`);
    expect(decodeURIComponent(pathname)).toBe(`/console/a/${segment}`);
  }
});
