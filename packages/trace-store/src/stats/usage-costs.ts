import { addCosts, costOf } from "../costs/cost-of.js";
import type { TokenCosts } from "../costs/cost-of.js";
import type { PriceBook } from "../costs/price-book.js";
import type { Parameters } from "../engine/parameters.js";

/** Sums of tokens by bucket, model and period, as a statement with {@link tokenSums} gives them. */
export interface TokenSums {
  bucket: string;
  model?: string;
  /** Absent where prices do not change. Microseconds since 1970. */
  period?: string;
  prompt_sum?: string;
  completion_sum?: string;
  cache_read_sum?: string;
  cache_creation_sum?: string;
}

/** The sums that costs follow from. A prompt is never less than its cached parts. */
export const tokenSums = [
  "sum(greatest(prompt_tokens, cache_read_tokens + cache_creation_tokens)) AS prompt_sum",
  "sum(completion_tokens) AS completion_sum",
  "sum(cache_read_tokens) AS cache_read_sum",
  "sum(cache_creation_tokens) AS cache_creation_sum",
] as const;

/**
 * Costs of usage in a range of time. The engine sums up tokens by period, a time in which no price changes, and each sum is
 * multiplied by the price of its model in that period.
 */
export class UsageCosts {
  readonly #book: PriceBook;
  readonly #start: bigint;
  readonly #changes: readonly bigint[];
  readonly #costs = new Map<string, TokenCosts>();

  constructor(book: PriceBook, { start, end }: { start: bigint; end: bigint }) {
    this.#book = book;
    this.#start = start;
    this.#changes = book.changes(start, end);
  }

  /** Whether sums by bucket and model hold tokens of several prices. */
  get hasPeriods(): boolean {
    return this.#changes.length > 0;
  }

  /** SQL of the start of the period that holds a time, both in microseconds. */
  periodOf(p: Parameters, us: string): string {
    return `roundDown(${us}, ${p.bind("Array(Int64)", [this.#start, ...this.#changes])})`;
  }

  add(sums: TokenSums): void {
    const more = this.priced(sums);
    if (more === undefined) return;
    const key = `${sums.bucket} ${sums.model ?? ""}`;
    const costs = this.#costs.get(key);
    this.#costs.set(key, costs === undefined ? more : addCosts(costs, more));
  }

  /** What the tokens of a model in a period cost; undefined without a price. */
  priced({ model = "", period, ...sums }: Omit<TokenSums, "bucket">): TokenCosts | undefined {
    const price = this.#book.priceAt(model, period === undefined ? this.#start : BigInt(period));
    if (price === undefined) return undefined;
    const usage = {
      model,
      requests: 0,
      total_tokens: 0,
      prompt_tokens: Number(sums.prompt_sum ?? 0),
      completion_tokens: Number(sums.completion_sum ?? 0),
      cache_read_tokens: Number(sums.cache_read_sum ?? 0),
      cache_creation_tokens: Number(sums.cache_creation_sum ?? 0),
    };
    return costOf(usage, price);
  }

  /** What a model cost in a bucket; undefined without a price. */
  of(bucket: string, model: string): TokenCosts | undefined {
    return this.#costs.get(`${bucket} ${model}`);
  }
}
