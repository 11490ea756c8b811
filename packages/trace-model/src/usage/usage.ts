import { jsonType, memberOf, objectEntries } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { safe, tokenBuckets } from "./buckets.js";
import type { TokenBuckets } from "./buckets.js";
import { countsOfEntry } from "./entry-counts.js";
import { modelName } from "./model-names.js";

/** Token counts of one model in one call: whole numbers from 0 to 2^53 − 1. */
export interface UsageRow {
  model: string;
  requests: number;
  /** All tokens sent to the model, those read from a cache or written to one included. */
  prompt_tokens: number;
  /** All tokens that the model produced, reasoning included. */
  completion_tokens: number;
  total_tokens: number;
  cache_read_tokens: number;
  cache_creation_tokens: number;
}

/**
 * The typed rows of `summary.usage`, normalised from the names in `usageSenders`, by the model's name as it was sent. What
 * is not an object is ignored, what is not a number, nor a text with one, counts as 0, and a missing or zero total is prompt + completion. The JSON
 * itself stays as it was sent.
 */
export function reportedUsage(summary: JsonText): UsageRow[] {
  if (!summary.includes("usage")) return [];
  const usage = memberOf(summary, "usage");
  if (usage === undefined || usage === "{}") return [];
  const rows = new Map<string, UsageRow>();
  for (const { key, value } of objectEntries(usage)) {
    rows.delete(key);
    const row = rowOf(key, value);
    if (row) rows.set(key, row);
  }
  return [...rows.values()];
}

/** As {@link reportedUsage}, with one row for the spellings of a model, under the name that {@link modelName} gives it. */
export function usageOf(summary: JsonText): UsageRow[] {
  return byModelName(reportedUsage(summary));
}

/** Rows by {@link modelName}. */
export function byModelName(rows: readonly UsageRow[]): UsageRow[] {
  const named = rows.map((row) => ({ ...row, model: modelName(row.model) }));
  if (named.length < 2) return named;
  const found = new Map<string, UsageRow>();
  for (const row of named) {
    const other = found.get(row.model);
    found.set(row.model, other === undefined ? row : addUsage(other, row));
  }
  return [...found.values()];
}

/** The usage of two calls of one model together. */
export function addUsage(a: UsageRow, b: UsageRow): UsageRow {
  return {
    model: a.model,
    requests: safe(a.requests + b.requests),
    prompt_tokens: safe(a.prompt_tokens + b.prompt_tokens),
    completion_tokens: safe(a.completion_tokens + b.completion_tokens),
    total_tokens: safe(a.total_tokens + b.total_tokens),
    cache_read_tokens: safe(a.cache_read_tokens + b.cache_read_tokens),
    cache_creation_tokens: safe(a.cache_creation_tokens + b.cache_creation_tokens),
  };
}

/** The row of buckets. */
export function usageRow(model: string, buckets: TokenBuckets): UsageRow {
  const { requests, uncached_input, cache_read, cache_creation, output, reasoning, total } = buckets;
  return {
    model,
    requests,
    prompt_tokens: safe(uncached_input + cache_read + cache_creation),
    completion_tokens: safe(output + reasoning),
    total_tokens: total,
    cache_read_tokens: cache_read,
    cache_creation_tokens: cache_creation,
  };
}

function rowOf(model: string, entry: JsonText): UsageRow | undefined {
  if (jsonType(entry) !== "object") return undefined;
  return usageRow(model, tokenBuckets(countsOfEntry(entry)));
}
