import { describe, expect, test } from "vitest";
import { PriceBook, pricesByModel } from "./price-book.js";
import type { Price } from "./price.js";

/** A price whose prompt token cost tells it from others. */
function price(cost: number, effective: bigint, created = 0n): Price {
  return {
    llm_id: "m",
    provider_id: "default",
    effective_date: effective,
    prompt_token_cost: cost,
    completion_token_cost: 0,
    cache_read_input_token_cost: 0,
    cache_creation_input_token_cost: 0,
    prompt_token_cost_unit: "USD",
    completion_token_cost_unit: "USD",
    created_at: created,
    created_by: null,
  };
}

const bookOf = (own: Price[], defaults: Price[]) => new PriceBook("acme/demo", own, pricesByModel(defaults));
const costs = (book: PriceBook, ...times: bigint[]) => times.map((at) => book.priceAt("m", at)?.prompt_token_cost);

describe("the price of a call", () => {
  test("is the latest one in effect when it started", () => {
    expect(costs(bookOf([price(2, 20n), price(1, 10n)], []), 10n, 19n, 20n, 99n)).toEqual([1, 1, 2, 2]);
  });

  test("is one of the project before the default list, once it is in effect", () => {
    const book = bookOf([price(5, 15n)], [price(1, 10n), price(2, 20n)]);
    expect(costs(book, 10n, 14n, 15n, 20n)).toEqual([1, 1, 5, 5]);
    expect(book.priceAt("m", 12n)).toMatchObject({ pricing_level: "default", pricing_level_id: "default" });
    expect(book.priceAt("m", 15n)).toMatchObject({ pricing_level: "project", pricing_level_id: "acme/demo" });
  });

  test("before all dates is the one with the latest date, of the project first", () => {
    expect(costs(bookOf([price(5, 15n), price(6, 16n)], [price(1, 30n)]), 1n)).toEqual([6]);
    expect(costs(bookOf([], [price(1, 30n), price(2, 40n)]), 1n)).toEqual([2]);
  });

  test("of equal dates is the one created last", () => {
    expect(costs(bookOf([price(2, 10n, 200n), price(1, 10n, 100n)], []), 10n, 1n)).toEqual([2, 2]);
  });

  test("is unknown for a model without one", () => {
    expect(bookOf([price(1, 1n)], []).priceAt("other", 5n)).toBeUndefined();
    expect(bookOf([], []).models()).toEqual([]);
  });
});

test("in a range prices follow one another", () => {
  const book = bookOf([price(1, 10n), price(2, 20n), price(3, 30n)], []);
  const segments = (start: bigint, end: bigint) =>
    book.segments("m", start, end).map(({ from, price: { prompt_token_cost } }) => [from, prompt_token_cost]);
  expect(segments(12n, 18n)).toEqual([[12n, 1]]);
  expect(segments(12n, 30n)).toEqual([
    [12n, 1],
    [20n, 2],
  ]);
  expect(segments(1n, 31n)).toEqual([
    [1n, 3],
    [10n, 1],
    [20n, 2],
    [30n, 3],
  ]);
});
