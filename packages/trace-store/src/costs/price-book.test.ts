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
    expect(bookOf([], []).changes(0n, 9n)).toEqual([]);
  });
});

test("prices change within a range at their dates", () => {
  const book = bookOf([price(1, 10n), price(2, 20n)], [price(3, 5n), price(4, 15n)]);
  expect(book.changes(0n, 100n)).toEqual([5n, 10n, 20n]);
  expect(book.changes(5n, 20n)).toEqual([10n]);
  expect(book.changes(20n, 100n)).toEqual([]);
});

describe("the name of a model", () => {
  const named = (model: string, cost: number): Price => ({ ...price(cost, 0n), llm_id: model });
  const costOf = (book: PriceBook, model: string) => book.priceAt(model, 1n)?.prompt_token_cost;

  test("may be spelled in another way than that of its price", () => {
    const book = bookOf([named("openai/gpt-4o", 1)], [named("us.anthropic.claude-3-haiku-20240307-v1:0", 2)]);
    expect(costOf(book, "gpt-4o")).toBe(1);
    expect(costOf(book, "openrouter/openai/gpt-4o")).toBe(1);
    expect(costOf(book, "anthropic.claude-3-haiku-20240307-v1:0")).toBe(2);
    expect(costOf(book, "gpt-4o-mini")).toBeUndefined();
  });

  test("leads to the price of its version, else to that of the model", () => {
    const book = bookOf([], [named("gpt-4o", 1), named("gpt-4o-2024-05-13", 2)]);
    expect(costOf(book, "gpt-4o-2024-05-13")).toBe(2);
    expect(costOf(book, "azure/gpt-4o-2024-08-06")).toBe(1);
    expect(costOf(bookOf([named("gpt-4o", 3)], [named("gpt-4o-2024-05-13", 2)]), "gpt-4o-2024-05-13")).toBe(3);
  });
});
