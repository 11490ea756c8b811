import type { UsageRow } from "@heddle/trace-model";
import type { TokenPrices } from "./price.js";

/** What usage costs, in the units of its price. */
export interface TokenCosts {
  prompt_tokens_total_cost: number;
  completion_tokens_total_cost: number;
  cache_read_input_tokens_total_cost: number;
  cache_creation_input_tokens_total_cost: number;
}

/** What usage without a price costs. */
export const noCosts: Readonly<TokenCosts> = {
  prompt_tokens_total_cost: 0,
  completion_tokens_total_cost: 0,
  cache_read_input_tokens_total_cost: 0,
  cache_creation_input_tokens_total_cost: 0,
};

/** Each token is billed once: what was read from a cache or written to one is not billed as prompt, too. */
export function costOf(usage: UsageRow, price: TokenPrices): TokenCosts {
  const uncached = Math.max(usage.prompt_tokens - usage.cache_read_tokens - usage.cache_creation_tokens, 0);
  return {
    prompt_tokens_total_cost: uncached * price.prompt_token_cost,
    completion_tokens_total_cost: usage.completion_tokens * price.completion_token_cost,
    cache_read_input_tokens_total_cost: usage.cache_read_tokens * price.cache_read_input_token_cost,
    cache_creation_input_tokens_total_cost: usage.cache_creation_tokens * price.cache_creation_input_token_cost,
  };
}

/** The costs of two usages together. */
export function addCosts(a: TokenCosts, b: TokenCosts): TokenCosts {
  return {
    prompt_tokens_total_cost: a.prompt_tokens_total_cost + b.prompt_tokens_total_cost,
    completion_tokens_total_cost: a.completion_tokens_total_cost + b.completion_tokens_total_cost,
    cache_read_input_tokens_total_cost: a.cache_read_input_tokens_total_cost + b.cache_read_input_tokens_total_cost,
    cache_creation_input_tokens_total_cost:
      a.cache_creation_input_tokens_total_cost + b.cache_creation_input_tokens_total_cost,
  };
}

/** The sum of all parts of a cost. */
export function totalCost(costs: TokenCosts): number {
  return (
    costs.prompt_tokens_total_cost +
    costs.completion_tokens_total_cost +
    costs.cache_read_input_tokens_total_cost +
    costs.cache_creation_input_tokens_total_cost
  );
}
