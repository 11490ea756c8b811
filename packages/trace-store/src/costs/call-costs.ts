import { formatTime, reportedUsage } from "@heddle/trace-model";
import type { JsonText } from "@heddle/exact-json";
import type { StoredCall } from "../stored-calls/stored-call.js";
import { costOf } from "./cost-of.js";
import type { PriceBook } from "./price-book.js";

/** Calls with what they cost by the prices that count now, which are read once. */
export async function* withCosts(
  calls: AsyncIterable<StoredCall>,
  readBook: () => Promise<PriceBook>,
): AsyncGenerator<StoredCall, void, undefined> {
  let book: PriceBook | undefined;
  for await (const call of calls) {
    book ??= await readBook();
    yield { ...call, costs: callCosts(call, book) };
  }
}

/** `summary.weave.costs` of a call: an entry for each model with a price, under its name in `summary.usage`; undefined when there is none. */
function callCosts(call: { summary: JsonText; started_at: bigint }, book: PriceBook): JsonText | undefined {
  const entries = reportedUsage(call.summary).flatMap((usage) => {
    const price = book.priceAt(usage.model, call.started_at);
    if (price === undefined) return [];
    const { llm_id: _, effective_date, created_at, ...rest } = price;
    const entry = {
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      requests: usage.requests,
      total_tokens: usage.total_tokens,
      cache_read_input_tokens: usage.cache_read_tokens,
      cache_creation_input_tokens: usage.cache_creation_tokens,
      ...costOf(usage, price),
      ...rest,
      effective_date: formatTime(effective_date),
      created_at: formatTime(created_at),
    };
    return [[usage.model, entry] as const];
  });
  return entries.length === 0 ? undefined : JSON.stringify(Object.fromEntries(entries));
}
