import { HeddleError, withLoc } from "@heddle/errors";
import { formatTime, pathExcess, splitPath } from "@heddle/trace-model";
import type { ApiSchemas } from "../api-schemas.js";
import type { StoreContext } from "../context.js";
import { Parameters } from "../engine/parameters.js";
import { leafOrNull } from "../query/json-path.js";
import { checkPrice, pathPrice } from "../query/price.js";
import { numeric } from "../query/sort.js";
import { StatementSql } from "../query/statement-sql.js";
import { newestRows } from "../schema/read-table.js";
import { bucketsBetween } from "../stats/buckets.js";
import { aggregates, percentileOf } from "../stats/metrics.js";
import { checkRange, inRange } from "./range.js";
import type { FeedbackStatsRequest } from "./requests.js";

type MetricSpec = ApiSchemas["FeedbackMetricSpec"];
type Aggregation = ApiSchemas["AggregationType"];
type ValueType = NonNullable<MetricSpec["value_type"]>;

/** Numbers of a bucket: one per metric and aggregation, as `avg_output_score`. */
interface FeedbackBucket {
  timestamp: string;
  count: number;
  [metric: string]: string | number | null;
}

export interface FeedbackStats {
  start: bigint;
  end: bigint;
  granularity: number;
  timezone: string;
  buckets: FeedbackBucket[];
  /** By the path with `_` for `.`, then by aggregation. */
  window_stats: Record<string, Record<string, number | null>>;
}

/** One number of a bucket. */
interface Column {
  slug: string;
  aggregation: string;
  sql: string;
  empty: 0 | null;
}

/** What each type of value can be summed up by; the first list is used when none is asked for. */
const aggregations: Readonly<Record<ValueType, { usual: readonly Aggregation[]; further: readonly Aggregation[] }>> = {
  numeric: { usual: ["avg", "min", "max"], further: ["sum", "count"] },
  boolean: { usual: ["count_true", "count_false"], further: ["count"] },
  categorical: { usual: ["count"], further: [] },
};

/** Without a metric nothing is put into buckets. */
const noBuckets = 3600;

/** Numbers about payloads per bucket of time. Throws `invalid` for ranges, zones and metrics that mean nothing. */
export async function feedbackStats(
  { engine, now }: StoreContext,
  request: FeedbackStatsRequest,
  signal?: AbortSignal,
): Promise<FeedbackStats> {
  const { start, end = now(), timezone = "UTC", granularity, metrics = [] } = request;
  const selection = { ...request, end };
  checkRange(selection);
  const buckets = bucketsBetween(start, end, timezone, granularity);
  if (metrics.length === 0) return { start, end, granularity: noBuckets, timezone, buckets: [], window_stats: {} };
  const columns = metricColumns(metrics);
  checkPrice({
    metrics: metrics.reduce((sum, { json_path }) => sum + 2 * pathPrice(splitPath(json_path)), columns.length),
  });
  const statement = (perBucket: boolean) => {
    const p = new Parameters();
    const sql = new StatementSql(p);
    const leaves = metrics.map(
      (spec, index) => `${leafOrNull(sql, "payload", splitPath(spec.json_path))} AS v${index}`,
    );
    const inner = `SELECT toUnixTimestamp64Micro(created_at) AS us, ${leaves.join(", ")} FROM ${newestRows("feedback")} WHERE ${inRange(p, selection)}`;
    const key = perBucket ? [`${buckets.bucketOf(p, "us")} AS bucket`] : [];
    const numbers = columns.map((column, index) => `${column.sql} AS m${index}`);
    const select = [...key, "count() AS count", ...numbers].join(", ");
    return { sql: `SELECT ${select} FROM (${inner})${perBucket ? " GROUP BY bucket" : ""}`, params: p };
  };
  type Row = Record<string, string | number | null>;
  const [rows, [whole]] = await Promise.all([
    engine.rows<Row>(() => statement(true), { signal }),
    engine.rows<Row>(() => statement(false), { signal }),
  ]);
  const byBucket = new Map(rows.map((row) => [BigInt(row["bucket"] ?? 0), row]));
  return {
    start,
    end,
    granularity: buckets.granularity,
    timezone,
    buckets: buckets.starts.map((from) => toBucket(from, columns, byBucket.get(from))),
    window_stats: toWindow(columns, whole),
  };
}

/** The numbers of all metrics, each once; the leaf that a metric is about is the column `v<index>`. */
function metricColumns(specs: readonly MetricSpec[]): Column[] {
  const columns = new Map<string, Column>();
  for (const [index, spec] of specs.entries()) {
    const loc = ["metrics", index];
    const { json_path: path, value_type: type = "numeric", percentiles = [] } = spec;
    const excess = pathExcess(path);
    if (excess !== undefined) throw new HeddleError("invalid", excess, { loc: [...loc, "json_path"] });
    const slug = path.replaceAll(".", "_");
    const value = values[type](`v${index}`);
    const add = (aggregation: string, sql: string, empty: 0 | null) =>
      columns.set(`${aggregation}_${slug}`, { slug, aggregation, sql, empty });
    const { usual, further } = aggregations[type];
    for (const name of spec.aggregations?.length ? spec.aggregations : usual) {
      if (!usual.includes(name) && !further.includes(name)) {
        throw new HeddleError("invalid", `${type} values have no ${name}`, { loc: [...loc, "aggregations"] });
      }
      add(name, aggregates[name](value), name === "min" || name === "max" ? null : 0);
    }
    if (percentiles.length > 0 && type !== "numeric") {
      throw new HeddleError("invalid", `${type} values have no percentiles`, { loc: [...loc, "percentiles"] });
    }
    for (const percentile of percentiles) {
      add(
        `p${percentile}`,
        withLoc([...loc, "percentiles"], () => percentileOf(value, percentile, percentiles)),
        null,
      );
    }
  }
  return [...columns.values()];
}

/** SQL of the value of each type in the text of a leaf; NULL where it is none. */
const values: Readonly<Record<ValueType, (leaf: string) => string>> = {
  // Scorers report true for one call and 0.5 for another: booleans are 1 and 0.
  numeric: (leaf) => `multiIf(${leaf} = 'true', 1, ${leaf} = 'false', 0, ${numeric(leaf)})`,
  boolean: (leaf) => `multiIf(${leaf} = 'true', 1, ${leaf} = 'false', 0, NULL)`,
  categorical: (leaf) => leaf,
};

function toBucket(start: bigint, columns: readonly Column[], row?: Record<string, string | number | null>) {
  const bucket: FeedbackBucket = { timestamp: formatTime(start), count: Number(row?.["count"] ?? 0) };
  for (const [index, { slug, aggregation, empty }] of columns.entries()) {
    bucket[`${aggregation}_${slug}`] = numberOf(row?.[`m${index}`], empty);
  }
  return bucket;
}

function toWindow(columns: readonly Column[], row?: Record<string, string | number | null>) {
  const stats: FeedbackStats["window_stats"] = {};
  for (const [index, { slug, aggregation, empty }] of columns.entries()) {
    const values = (Object.hasOwn(stats, slug) ? stats[slug] : undefined) ?? {};
    values[aggregation] = numberOf(row?.[`m${index}`], empty);
    Object.defineProperty(stats, slug, { value: values, enumerable: true, configurable: true, writable: true });
  }
  return stats;
}

function numberOf(value: string | number | null | undefined, empty: 0 | null): number | null {
  return value === null || value === undefined ? empty : Number(value);
}
