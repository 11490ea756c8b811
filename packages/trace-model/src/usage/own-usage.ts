import { priceNames } from "./model-names.js";
import type { UsageIncludes } from "./usage-includes.js";
import type { UsageRow } from "./usage.js";

/** What a call reports. */
export interface UsageReport {
  reported: readonly UsageRow[];
  includes: UsageIncludes | undefined;
}

/**
 * The usage of a call without what is in the usage of calls below as well, so that adding up counts each token once.
 * `children` are the calls right below, `below` the own usage of all calls below, added up by model.
 *
 * Where the client is known to include what is below, that is subtracted. Else a model's counts that are equal to those
 * below are the same tokens again, and all others are further ones. Returns `reported` itself where nothing is repeated.
 */
export function ownUsage(
  { reported, includes }: UsageReport,
  children: Iterable<UsageReport>,
  below: ReadonlyMap<string, UsageRow>,
): readonly UsageRow[] {
  if (reported.length === 0 || below.size === 0) return reported;
  const added = includes === "children" ? ofSameClient(children) : below;
  const rest = includes === undefined ? reported : reported.flatMap((row) => without(row, includes, added, reported));
  const own = rest.filter((row) => !isRepeated(row, matching(row.model, below)));
  return own.length === reported.length && own.every((row, index) => row === reported[index]) ? reported : own;
}

/** Sums of rows by model, of the first `most` models. */
export function sumByModel(
  into: Map<string, UsageRow>,
  rows: Iterable<UsageRow>,
  most = Number.POSITIVE_INFINITY,
): void {
  for (const row of rows) {
    const sum = into.get(row.model);
    if (sum === undefined && into.size >= most) continue;
    into.set(row.model, sum === undefined ? row : combine(sum, row, 1));
  }
}

/** What children of the same client report: that is what the client has added, whatever is known of them now. */
function ofSameClient(children: Iterable<UsageReport>): ReadonlyMap<string, UsageRow> {
  const sums = new Map<string, UsageRow>();
  for (const { reported, includes } of children) if (includes === "children") sumByModel(sums, reported);
  return sums;
}

/** A row without what is added; nothing when no count is left. */
function without(
  row: UsageRow,
  includes: UsageIncludes,
  added: ReadonlyMap<string, UsageRow>,
  reported: readonly UsageRow[],
): UsageRow[] {
  const exact = added.get(row.model);
  // A wrapper may name the model that was asked for, and the call below the version that responded.
  const wrapped = reported.length === 1 ? [...added.values()] : matching(row.model, added);
  let rest = row;
  for (const part of includes === "children" ? (exact === undefined ? [] : [exact]) : wrapped) {
    rest = combine(rest, part, -1);
  }
  return rest === row || !isEmpty(rest) ? [rest] : [];
}

/** Whether a row has the same tokens as the others together. */
function isRepeated(row: UsageRow, others: readonly UsageRow[]): boolean {
  if (others.length === 0) return false;
  const sum = others.reduce((a, b) => combine(a, b, 1));
  if (row.prompt_tokens === 0 && row.completion_tokens === 0) {
    return row.total_tokens > 0 && row.total_tokens === sum.total_tokens;
  }
  return row.prompt_tokens === sum.prompt_tokens && row.completion_tokens === sum.completion_tokens;
}

/** The rows of a model, whatever its version. */
function matching(model: string, rows: ReadonlyMap<string, UsageRow>): UsageRow[] {
  const name = priceNames(model).at(-1);
  return [...rows.values()].filter((row) => row.model === model || priceNames(row.model).at(-1) === name);
}

function combine(a: UsageRow, b: UsageRow, sign: 1 | -1): UsageRow {
  const count = (name: CountColumn) => Math.min(Math.max(a[name] + sign * b[name], 0), Number.MAX_SAFE_INTEGER);
  return {
    model: a.model,
    requests: count("requests"),
    prompt_tokens: count("prompt_tokens"),
    completion_tokens: count("completion_tokens"),
    total_tokens: count("total_tokens"),
    cache_read_tokens: count("cache_read_tokens"),
    cache_creation_tokens: count("cache_creation_tokens"),
  };
}

type CountColumn = Exclude<keyof UsageRow, "model">;

function isEmpty(row: UsageRow): boolean {
  return Object.values(row).every((value) => typeof value === "string" || value === 0);
}
