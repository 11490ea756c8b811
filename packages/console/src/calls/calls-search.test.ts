import { expect, test } from "vitest";
import { readBetween, readCallsSearch, selectionOf, writeBetween } from "./calls-search.js";

test("a range of time is read from the address, open at either end, and what is none is left out", () => {
  const between = "2026-11-26T09:00:00.000Z/2026-11-26T10:00:00.000Z";
  expect(writeBetween(readBetween(between))).toBe(between);
  expect(readCallsSearch({ between: "../2026-11-26T10:00:00Z" })).toEqual({ between: "../2026-11-26T10:00:00.000Z" });
  for (const text of ["", "/", "../..", "yesterday/now", "x".repeat(5000)])
    expect(readCallsSearch({ between: text })).toEqual({});
});

test("the range is part of the selection, and a period within it, too", () => {
  const now = Date.parse("2026-11-26T12:00:00Z");
  const field = { $getField: "started_at" };
  expect(selectionOf({ since: "1h", between: "2026-11-26T09:00:00Z/2026-11-26T11:30:00Z" }, now)).toEqual({
    query: {
      $expr: {
        $and: [{ $gte: [field, { $literal: now / 1000 - 3600 }] }, { $lt: [field, { $literal: now / 1000 - 1800 }] }],
      },
    },
  });
});
