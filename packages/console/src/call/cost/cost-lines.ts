import type { LLMCostSchema } from "@heddle/client/tracing";

/** One product of a cost: how many tokens at which price. */
export interface CostLine {
  what: string;
  tokens: number;
  /** Of one token. */
  price: number;
  cost: number;
}

/** The products that a cost is the sum of; those of no tokens are left out. */
export function costLines(cost: LLMCostSchema): CostLine[] {
  const read = cost.cache_read_input_tokens ?? 0;
  const written = cost.cache_creation_input_tokens ?? 0;
  const lines = [
    [
      "prompt",
      Math.max(0, (cost.prompt_tokens ?? 0) - read - written),
      cost.prompt_token_cost,
      cost.prompt_tokens_total_cost,
    ],
    ["read from the cache", read, cost.cache_read_input_token_cost, cost.cache_read_input_tokens_total_cost],
    [
      "written to the cache",
      written,
      cost.cache_creation_input_token_cost,
      cost.cache_creation_input_tokens_total_cost,
    ],
    ["completion", cost.completion_tokens ?? 0, cost.completion_token_cost, cost.completion_tokens_total_cost],
  ] as const;
  return lines.flatMap(([what, tokens, price = 0, total = 0]) =>
    tokens === 0 ? [] : [{ what, tokens, price, cost: total }],
  );
}
