import { expect, it } from "vitest";
import { checkPage } from "./page.js";

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
