import { forEachMember, jsonType, memberOf, objectEntries } from "../json/members.js";
import type { JsonText } from "../json/scan.js";

/** Token counts of one model in one call: whole numbers from 0 to 2^53 − 1. */
export interface UsageRow {
  model: string;
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cache_read_tokens: number;
  cache_creation_tokens: number;
}

type Count = Exclude<keyof UsageRow, "model">;

/** Two providers' names for a count are added, as a client that reports both means different tokens. */
const countOf: Readonly<Record<string, Count>> = {
  requests: "requests",
  prompt_tokens: "prompt_tokens",
  input_tokens: "prompt_tokens",
  completion_tokens: "completion_tokens",
  output_tokens: "completion_tokens",
  total_tokens: "total_tokens",
  cache_read_input_tokens: "cache_read_tokens",
  cache_creation_input_tokens: "cache_creation_tokens",
};

/**
 * The typed rows of `summary.usage`. What is no object is ignored, what is no number counts as 0, a missing or zero
 * total is prompt + completion, and models without any count are left out. The JSON itself stays the truth.
 */
export function usageOf(summary: JsonText): UsageRow[] {
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

/** A row of zeros, to add to. */
export function emptyUsage(model: string): UsageRow {
  return {
    model,
    requests: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    cache_read_tokens: 0,
    cache_creation_tokens: 0,
  };
}

function rowOf(model: string, entry: JsonText): UsageRow | undefined {
  if (jsonType(entry) !== "object") return undefined;
  const counts = new Map<string, number>();
  forEachMember(entry, (key, from, to) => {
    if (Object.hasOwn(countOf, key)) counts.set(key, wholeCount(entry.slice(from, to)));
  });
  const row = emptyUsage(model);
  let any = false;
  for (const [key, count] of counts) {
    const name = countOf[key];
    if (name === undefined || count === 0) continue;
    row[name] = Math.min(row[name] + count, Number.MAX_SAFE_INTEGER);
    any = true;
  }
  if (!any) return undefined;
  if (row.total_tokens === 0) {
    row.total_tokens = Math.min(row.prompt_tokens + row.completion_tokens, Number.MAX_SAFE_INTEGER);
  }
  return row;
}

/** A count as a whole number the columns can hold; the store refuses a row with a negative one. */
function wholeCount(token: JsonText): number {
  if (jsonType(token) !== "number") return 0;
  const value = Math.trunc(Number(token));
  return value > 0 ? Math.min(value, Number.MAX_SAFE_INTEGER) : 0;
}
