import { expect, test } from "vitest";
import { byteRange } from "./byte-range.js";

test.each([
  ["bytes=0-0", { start: 0, end: 0 }],
  ["bytes=3-", { start: 3 }],
  ["bytes=-4", { start: 6 }],
  ["bytes=-40", { start: 0 }],
  ["bytes=12-15", { start: 12, end: 15 }],
])("%s asks for a part of ten bytes", (header, range) => {
  expect(byteRange(header, 10)).toEqual(range);
});

test.each([undefined, "", "bytes=-", "bytes=5-3", "bytes=0-1,4-5", "lines=1-2", "bytes=a-b", "bytes=1"])(
  "%s asks for all bytes",
  (header) => {
    expect(byteRange(header, 10)).toBeUndefined();
  },
);
