import type { CountKind } from "./senders.js";

/** Counts as a sender reported them: whole numbers from 0 to 2^53 − 1. */
export interface ReportedCounts extends Record<
  Exclude<CountKind, "more_input" | "uncached_input" | "cache_creation_part">,
  number
> {
  /** Whether the sender's shape says that cached tokens are not in its input count. */
  cache_apart: boolean;
  /** Whether the sender's shape says that reasoning tokens are not in its output count. */
  reasoning_apart: boolean;
}

/** Tokens of one model in one call, each in exactly one bucket, so that adding prices up bills none twice. */
export interface TokenBuckets {
  requests: number;
  /** Sent to the model, and neither read from a cache nor written to one. */
  uncached_input: number;
  cache_read: number;
  cache_creation: number;
  /** Visible output. */
  output: number;
  reasoning: number;
  /** As reported; the sum of the buckets where no total was reported. */
  total: number;
}

/**
 * Sorts reported counts into exclusive buckets. Whether a part is in the whole follows from the reported total where
 * that adds up one way only, else from the sender's shape; a part that is greater than its whole is not in it.
 */
export function tokenBuckets(counts: ReportedCounts): TokenBuckets {
  const { requests, input, cache_read, cache_creation, output, reasoning, total } = counts;
  const cached = cache_read + cache_creation;
  const { cacheApart, reasoningApart } = formOf(counts, cached);
  const uncachedInput = cacheApart || cached > input ? input : input - cached;
  const visibleOutput = reasoningApart || reasoning > output ? output : output - reasoning;
  return {
    requests,
    uncached_input: uncachedInput,
    cache_read,
    cache_creation,
    output: visibleOutput,
    reasoning,
    total: total === 0 ? safe(uncachedInput + cached + visibleOutput + reasoning) : total,
  };
}

/** Whether the reported total is the sum of the other counts by any way to count. */
export function fitsTotal(counts: ReportedCounts): boolean {
  return formOf(counts, counts.cache_read + counts.cache_creation).fits;
}

interface Form {
  cacheApart: boolean;
  reasoningApart: boolean;
  fits: boolean;
}

/** Each way to count, that of the sender's shape first. */
function formOf(
  { input, output, reasoning, total, cache_apart, reasoning_apart }: ReportedCounts,
  cached: number,
): Form {
  const rest = total - input - output;
  for (let way = 0; way < 4; way++) {
    const cacheApart = way < 2 === cache_apart;
    const reasoningApart = (way % 2 === 0) === reasoning_apart;
    if (rest === (cacheApart ? cached : 0) + (reasoningApart ? reasoning : 0)) {
      return { cacheApart, reasoningApart, fits: true };
    }
  }
  return { cacheApart: cache_apart, reasoningApart: reasoning_apart, fits: false };
}

/** A sum that an integer column and a double both hold exactly. */
export function safe(sum: number): number {
  return Math.min(sum, Number.MAX_SAFE_INTEGER);
}
