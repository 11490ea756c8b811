import { expect, test } from "vitest";
import { panned, readWindow, writeWindow, zoomed } from "./time-window.js";

const whole = { start: 1000, end: 101_000 };

test("a part of a trace is in the address by microseconds since it began", () => {
  const text = writeWindow({ start: 21_000, end: 31_000.4 }, whole);
  expect(text).toBe("20000-30000");
  expect(readWindow(text, whole)).toEqual({ start: 21_000, end: 31_000 });
});

test("what is said badly, is all of it or more is the whole trace", () => {
  for (const text of [undefined, "", "1", "a-b", "-5-10", "0-100000", "0-999999999999999", "1e3-2e3"])
    expect([text, readWindow(text, whole)]).toEqual([text, undefined]);
  expect(writeWindow(zoomed(whole, 2), whole)).toBeUndefined();
});

test("no window leaves the trace, is empty or turned round", () => {
  expect(readWindow("95000-200000", { start: 0, end: 200_000 })).toEqual({ start: 95_000, end: 200_000 });
  expect(readWindow("150000-160000", whole)).toEqual({ start: 91_000, end: 101_000 });
  expect(readWindow("5000-5000", whole)).toEqual({ start: 6000, end: 6010 });
  expect(readWindow("6000-5000", whole)).toEqual({ start: 7000, end: 7010 });
  expect(writeWindow(panned({ start: 1000, end: 11_000 }, -0.5), whole)).toBe("0-10000");
});

test("a zoom keeps the time under the pointer where it is", () => {
  const near = zoomed({ start: 0, end: 100 }, 0.5, 0.25);
  expect(near).toEqual({ start: 12.5, end: 62.5 });
  expect(near.start + 0.25 * (near.end - near.start)).toBe(25);
  expect(panned({ start: 0, end: 100 }, 0.25)).toEqual({ start: 25, end: 125 });
});
