import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ConfigError } from "../config/config-error.js";
import { formatPriceList, loadPrices, parsePriceList, readPriceList, shippedPricesFile } from "./prices.js";

const directory = mkdtempSync(join(tmpdir(), "heddle-prices-"));
afterAll(() => rmSync(directory, { recursive: true }));

function fileOf(list: unknown): string {
  const file = join(directory, "prices.json");
  writeFileSync(file, typeof list === "string" ? list : JSON.stringify(list));
  return file;
}

const price = { llm_id: "gpt-4o", prompt_token_cost: 1e-6, completion_token_cost: 2e-6 };

test("the list that comes with Heddle is sorted and has a source for every price", () => {
  const list = readPriceList(shippedPricesFile);
  expect(formatPriceList(list)).toBe(readFileSync(shippedPricesFile, "utf8"));
  const providers = new Set(list.prices.map(({ provider_id }) => provider_id));
  expect(providers).toEqual(new Set(Object.keys(list.sources)));
  for (const { pages } of Object.values(list.sources)) expect(pages.every((page) => URL.canParse(page))).toBe(true);
});

test("no price that comes with Heddle is off by a factor of a thousand", () => {
  for (const { llm_id, ...costs } of readPriceList(shippedPricesFile).prices) {
    const { prompt_token_cost: prompt, completion_token_cost: completion, cache_read_input_token_cost: read } = costs;
    expect({ llm_id, likely: prompt >= 1e-8 && completion <= 1e-3 && completion >= prompt / 2 }).toEqual({
      llm_id,
      likely: true,
    });
    expect({ llm_id, cheaper: (read ?? 0) <= prompt }).toEqual({ llm_id, cheaper: true });
  }
});

test("a file of prices replaces all prices of its models and adds others", () => {
  const file = fileOf({ prices: [price, { ...price, llm_id: "our-model", effective_date: "2026-01-01" }] });
  const prices = loadPrices(file);
  expect(prices.filter(({ llm_id }) => llm_id === "gpt-4o")).toEqual([
    {
      ...price,
      provider_id: "default",
      cache_read_input_token_cost: 1e-6,
      cache_creation_input_token_cost: 1e-6,
      prompt_token_cost_unit: "USD",
      completion_token_cost_unit: "USD",
      effective_date: 0n,
      created_at: 0n,
      created_by: null,
    },
  ]);
  expect(prices.find(({ llm_id }) => llm_id === "our-model")?.effective_date).toBe(1_767_225_600_000_000n);
  expect(prices).toHaveLength(loadPrices(undefined).length + 1);
});

test.each<[list: unknown, message: string]>([
  ["{", "JSON"],
  [[], "expected an object with the key prices"],
  [{ price: [] }, "there is no key price; known are unit, sources and prices"],
  [{ prices: {} }, "prices must be a list"],
  [{ prices: [price], unit: 1 }, "unit must be the name of a currency"],
  [{ prices: [price, 1] }, "prices[1] must be an object"],
  [{ prices: [{ ...price, cached: 1 }] }, "prices[0] has no key cached; known are llm_id, "],
  [{ prices: [{ ...price, llm_id: "" }] }, "prices[0].llm_id must be"],
  [{ prices: [{ ...price, prompt_token_cost: -1 }] }, "prices[0].prompt_token_cost must be a number from 0 to 1000"],
  [{ prices: [{ ...price, prompt_token_cost: "1" }] }, "prices[0].prompt_token_cost must be"],
  [{ prices: [{ llm_id: "m", prompt_token_cost: 1 }] }, "prices[0].completion_token_cost must be"],
  [{ prices: [{ ...price, cache_read_input_token_cost: 1e9 }] }, "prices[0].cache_read_input_token_cost must be"],
  [{ prices: [{ ...price, effective_date: "soon" }] }, "prices[0].effective_date must be"],
  [{ prices: [price, price] }, "prices[1] repeats a price of gpt-4o"],
  [{ prices: [price], sources: { openai: {} } }, "sources.openai needs a name, pages and the date"],
])("%j is refused with one line that says where", (list, message) => {
  const file = fileOf(list);
  expect(() => parsePriceList(readFileSync(file, "utf8"), file)).toThrow(ConfigError);
  expect(() => loadPrices(file)).toThrow(message);
});

test("a file that is not there is named", () => {
  expect(() => loadPrices("/nowhere/prices.json")).toThrow(/the prices in \/nowhere\/prices.json cannot be read/);
});
