import { expect, test } from "vitest";
import { costLines } from "./cost-lines.js";

test("a cost is the sum of its lines, tokens of the cache apart", () => {
  const lines = costLines({
    prompt_tokens: 100,
    completion_tokens: 10,
    cache_read_input_tokens: 60,
    prompt_token_cost: 2,
    completion_token_cost: 5,
    cache_read_input_token_cost: 1,
    prompt_tokens_total_cost: 80,
    completion_tokens_total_cost: 50,
    cache_read_input_tokens_total_cost: 60,
  });
  expect(lines).toEqual([
    { what: "prompt", tokens: 40, price: 2, cost: 80 },
    { what: "read from the cache", tokens: 60, price: 1, cost: 60 },
    { what: "completion", tokens: 10, price: 5, cost: 50 },
  ]);
  expect(costLines({})).toEqual([]);
});
