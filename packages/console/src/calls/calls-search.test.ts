import { expect, test } from "vitest";
import { readBetween, readCallsSearch, readWidths, selectionOf, writeBetween } from "./calls-search.js";

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

test("widths of columns are in the address, whatever a path is made of, and what is none is left out", () => {
  const widths = "name:240,inputs.a:b:300";
  expect(readCallsSearch({ widths })).toEqual({ widths });
  expect([...readWidths("name:1,output:1e9,cost:12.6")]).toEqual([
    ["name", 40],
    ["output", 2000],
    ["cost", 40],
  ]);
  for (const text of ["", "name", "name:", ":5", "name:wide", "name:NaN", ",,", "name:Infinity"])
    expect(readCallsSearch({ widths: text })).toEqual({});
});
