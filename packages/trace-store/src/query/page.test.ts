import { expect, it } from "vitest";
import { Parameters } from "../engine/parameters.js";
import { checkPage, pageClause } from "./page.js";

it.each([{ limit: -1 }, { limit: 1.5 }, { limit: 2 ** 53 }, { limit: 1e300 }, { offset: -1 }, { offset: Number.NaN }])(
  "the page %o is refused with the field that is wrong",
  (page) => {
    const refusal = expect.objectContaining({ code: "invalid", loc: [Object.keys(page)[0]] });
    expect(() => checkPage(page)).toThrow(refusal);
  },
);

it("pages that can be pass, and an empty one only where it may be", () => {
  for (const page of [{}, { limit: 0, offset: 0 }, { limit: 2 ** 53 - 1 }]) expect(() => checkPage(page)).not.toThrow();
  expect(() => checkPage({ limit: 0 }, 1)).toThrow("limit must be at least 1");
});

it.each([
  [{}, "", {}],
  [{ offset: 0 }, "", {}],
  [{ limit: 5 }, " LIMIT {p0:UInt64}", { p0: 5 }],
  [{ limit: 0, offset: 2 }, " LIMIT {p0:UInt64} OFFSET {p1:UInt64}", { p0: 0, p1: 2 }],
  [{ offset: 2 }, " LIMIT {p0:UInt64} OFFSET {p1:UInt64}", { p0: Number.MAX_SAFE_INTEGER, p1: 2 }],
])("the page %o is the clause %j", (page, clause, values) => {
  const p = new Parameters();
  expect(pageClause(p, page)).toBe(clause);
  expect(p.values).toEqual(values);
});
