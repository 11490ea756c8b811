import { forEachMember, jsonType, memberOf, objectEntries } from "../json/members.js";
import type { JsonText } from "../json/scan.js";
import { safe, tokenBuckets } from "./buckets.js";
import type { ReportedCounts, TokenBuckets } from "./buckets.js";
import { usageSenders } from "./senders.js";
import type { CountKind } from "./senders.js";

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

/** Names of counts as they occur in the JSON: a count, or an object with further names. */
interface NameTree extends Map<string, CountNameEntry | NameTree> {}
interface CountNameEntry {
  path: string;
  kind: CountKind;
  part: "inside" | "apart" | undefined;
}

const names = nameTree();

/**
 * The typed rows of `summary.usage`, normalised from the names in `usageSenders`. What is no object is ignored, what is
 * no number counts as 0, and a missing or zero total is prompt + completion. The JSON itself stays as it was sent.
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
  return usageRow(model, tokenBuckets(reportedCounts(entry)));
}

function reportedCounts(entry: JsonText): ReportedCounts {
  // By path, so that the last of repeated keys counts.
  const found = new Map<string, { name: CountNameEntry; count: number }>();
  collectCounts(entry, names, found);
  const counts: ReportedCounts = { ...noCounts };
  let [cacheInside, cacheApart] = [false, false];
  for (const { name, count } of found.values()) {
    const { kind, part } = name;
    if (count === 0) continue;
    counts[kind] = isWhole(kind) ? safe(counts[kind] + count) : Math.max(counts[kind], count);
    if (kind === "reasoning") counts.reasoning_apart ||= part === "apart";
    else {
      cacheInside ||= part === "inside";
      cacheApart ||= part === "apart";
    }
  }
  counts.cache_apart = cacheApart && !cacheInside;
  return counts;
}

/** Two names of the whole are added, as a client that reports both means different tokens. */
function isWhole(kind: CountKind): boolean {
  return kind === "input" || kind === "output" || kind === "requests";
}

function collectCounts(
  object: JsonText,
  tree: NameTree,
  found: Map<string, { name: CountNameEntry; count: number }>,
): void {
  forEachMember(object, (key, from, to) => {
    const name = tree.get(key);
    if (name === undefined) return;
    const value = object.slice(from, to);
    if (name instanceof Map) collectCounts(value, name, found);
    else found.set(name.path, { name, count: wholeCount(value) });
  });
}

const noCounts: Readonly<ReportedCounts> = {
  requests: 0,
  input: 0,
  cache_read: 0,
  cache_creation: 0,
  output: 0,
  reasoning: 0,
  total: 0,
  cache_apart: false,
  reasoning_apart: false,
};

function nameTree(): NameTree {
  const tree: NameTree = new Map();
  for (const [path, name] of Object.values(usageSenders).flatMap((sender) => Object.entries(sender))) {
    const [kind, part] = typeof name === "string" ? [name, undefined] : name;
    const segments = path.split(".");
    let level = tree;
    for (const segment of segments.slice(0, -1)) {
      const next = level.get(segment);
      const inner: NameTree = next instanceof Map ? next : new Map();
      level.set(segment, inner);
      level = inner;
    }
    level.set(segments.at(-1) ?? path, { path, kind, part });
  }
  return tree;
}

/** A count as a whole number the columns can hold; the store refuses a row with a negative one. */
function wholeCount(token: JsonText): number {
  if (jsonType(token) !== "number") return 0;
  const value = Math.trunc(Number(token));
  return value > 0 ? Math.min(value, Number.MAX_SAFE_INTEGER) : 0;
}
