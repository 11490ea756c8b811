/** Prices of single tokens, by the bucket that a token is in. */
export interface TokenPrices {
  prompt_token_cost: number;
  completion_token_cost: number;
  cache_read_input_token_cost: number;
  cache_creation_input_token_cost: number;
}

/** The price of a model from a date on. */
export interface Price extends TokenPrices {
  /** The name that the model has as a key of `summary.usage`. */
  llm_id: string;
  provider_id: string;
  prompt_token_cost_unit: string;
  completion_token_cost_unit: string;
  /** Microseconds since 1970. */
  effective_date: bigint;
  created_at: bigint;
  created_by: string | null;
}

/** A price that a project has set. */
export interface StoredPrice extends Price {
  id: string;
}

/** A price, and whose it is. */
export interface ChosenPrice extends Price {
  pricing_level: "default" | "project";
  /** The project, or `default`. */
  pricing_level_id: string;
}
