import type { CallField } from "@heddle/trace-model";
import type { Parameters } from "../engine/parameters.js";
import { compileFields, findsAll } from "../query/call-query.js";
import type { CallPlan, CallsById } from "../query/call-query.js";
import type { Buckets } from "../stats/buckets.js";
import { usageCounts } from "../stored-calls/call-sides.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import type { CallScope } from "../visibility/call-scope.js";
import { keyHash, keyText } from "./group-keys.js";
import type { GroupKeys } from "./group-keys.js";
import type { Metric } from "./metrics.js";

/** Microseconds since 1970; the end is excluded. */
export interface TimeRange {
  start: bigint;
  end: bigint;
}

/** Which calls, and what is asked of them. */
export interface AggregatedCalls {
  plan: CallPlan;
  byId: CallsById | undefined;
  range: TimeRange | undefined;
  /** Only calls that started at this time or later, of a sample. */
  since: bigint | undefined;
  groups: GroupKeys;
  /** Columns `x0`, `x1`, … as text. */
  fields: readonly CallField[];
}

/** What one statement needs of calls, as columns `expression AS name`. */
interface RowNeeds {
  select?: readonly string[];
  metrics?: readonly Metric[];
  /** A row for each model of a call, with `cost_model` and the counts of it as `…_of`. */
  costs?: boolean;
  fields?: boolean;
}

/**
 * SQL of rows of calls with keys `k0`, `k1` and their hash `h`, and `is_first`: where calls are grouped by model, one has a row for
 * each of its models, and only the first stands for the call.
 */
export function callRows(calls: AggregatedCalls, scope: CallScope, p: Parameters, needs: RowNeeds): string {
  const { plan, byId, groups, range, since } = calls;
  const { select = [], metrics = [], costs = false } = needs;
  const keyFields = groups.keys.flatMap((key) => (typeof key === "object" && "field" in key ? [key.field] : []));
  const fields = needs.fields === true ? calls.fields : [];
  const { values, conditions } = compileFields(plan, { scope, p, byId }, [...keyFields, ...fields]);
  const fieldsOfKeys = values.slice(0, keyFields.length);
  const keyColumns = groups.keys.flatMap((key, index) => {
    if (key === "model") return [];
    return [`${keyText("field" in key ? (fieldsOfKeys.shift() ?? "NULL") : key.column)} AS k${index}`];
  });
  const tokens = costs ? [...usageCounts] : [...new Set(metrics.flatMap(({ tokens: count }) => count ?? []))];
  const hasModels = costs || groups.byModel;
  const inner = visibleCalls(scope, p, {
    ...conditions,
    where: [...(conditions.where ?? []), ...during(p, range, since)],
    aggregation: findsAll(plan) ? "rows" : undefined,
    select: [
      ...new Set([
        "id",
        ...select,
        ...metrics.flatMap((metric) => metric.select),
        ...keyColumns,
        ...(hasModels ? ["`usage.model` AS models"] : []),
        ...tokens.map((count) => `\`usage.${count}\` AS ${count}_list`),
        ...values.slice(keyFields.length).map((value, index) => `toString(${value}) AS x${index}`),
      ]),
    ],
  });
  const lists = tokens.map((count) => `${count}_list AS ${count}_of`);
  const modelKeys = groups.keys.flatMap((key, index) => (key === "model" ? [`nullIf(model, '') AS k${index}`] : []));
  const keys = groups.keys.map((_, index) => `k${index}`);
  const outputs = ["*", ...modelKeys, ...(keys.length === 0 ? [] : [`${keyHash(keys)} AS h`])];
  if (!hasModels) {
    const sums = tokens.map((count) => `arraySum(${count}_list) AS ${count}_of`);
    return `SELECT ${[...outputs, ...sums, "1 AS is_first"].join(", ")} FROM (${inner})`;
  }
  const joined = ["toString(model_name) AS model", "nth"];
  const from = `(${inner}) LEFT ARRAY JOIN ${["models AS model_name", "arrayEnumerate(models) AS nth", ...lists].join(", ")}`;
  const each = `SELECT *, ${[...joined, ...tokens.map((count) => `${count}_of`)].join(", ")} FROM ${from}`;
  return `SELECT ${[...outputs, "nth <= 1 AS is_first"].join(", ")} FROM (${each})`;
}

function during(p: Parameters, range: TimeRange | undefined, since: bigint | undefined): string[] {
  return [
    ...(range === undefined ? [] : [`started_at >= ${p.time(range.start)}`, `started_at < ${p.time(range.end)}`]),
    ...(since === undefined ? [] : [`started_at >= ${p.time(since)}`]),
  ];
}

/** The time of a call, for buckets and prices. */
export const startUs = "toUnixTimestamp64Micro(started_at) AS us";

/** How rows are grouped: by the place of their key in the list of top keys, 0 for others, and by bucket. */
export function groupingOf(p: Parameters, top: readonly Top[] | undefined, buckets: Buckets | undefined): string[] {
  return [
    ...(top === undefined ? [] : [`${placeOf(p, top)} AS g`]),
    ...(buckets === undefined ? [] : [`${buckets.bucketOf(p, "us")} AS bucket`]),
  ];
}

/** A group by the hash of its key. */
export interface Top {
  hash: string;
}

function placeOf(p: Parameters, top: readonly Top[]): string {
  if (top.length === 0) return "toUInt16(0)";
  const hashes = p.bind(
    "Array(UInt64)",
    top.map(({ hash }) => BigInt(hash)),
  );
  const places = p.bind(
    "Array(UInt16)",
    top.map((_, index) => index + 1),
  );
  return `transform(h, ${hashes}, ${places}, toUInt16(0))`;
}
