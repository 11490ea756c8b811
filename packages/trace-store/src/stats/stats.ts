import { HeddleError } from "@heddle/errors";
import type { ApiSchemas } from "../api-schemas.js";
import { formatTime, isStorableTime } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { compileFilter, checkFilter } from "../query/filter.js";
import type { CallsFilter } from "../query/filter.js";
import { bucketsBetween } from "./buckets.js";
import type { Buckets } from "./buckets.js";
import { callValues, metricColumns, usageValues } from "./metrics.js";
import type { MetricColumn } from "./metrics.js";
import { visibleCalls } from "../query/visible-calls.js";
import type { CallScope } from "../query/visible-calls.js";

export interface CallStatsRequest extends Omit<ApiSchemas["CallStatsReq"], "start" | "end"> {
  /** Inclusive. Microseconds since 1970. */
  start: bigint;
  /** Exclusive; default now. */
  end?: bigint;
}

/** One bucket: in addition a number or null per metric key, as `sum_latency_ms`. */
export interface StatsBucket {
  /** Start of the bucket as the wire writes times. */
  timestamp: string;
  /** Calls in the bucket; of usage, those that used the model. */
  count: number;
  [metric: string]: string | number | null;
}

export interface UsageBucket extends StatsBucket {
  model: string;
}

export interface CallStats {
  start: bigint;
  end: bigint;
  granularity: number;
  timezone: string;
  usage_buckets: UsageBucket[];
  call_buckets: StatsBucket[];
}

/** Buckets × models of one result. */
const maxUsageBuckets = 250_000;

/**
 * Figures per bucket of time, calls placed by their start. Every bucket is there, with zeros when it is empty; usage
 * has one per bucket and model seen in the range. Throws `invalid` for ranges, zones and metrics that mean nothing.
 */
export async function callStats(
  engine: Engine,
  scopeNow: () => CallScope,
  request: CallStatsRequest,
  signal?: AbortSignal,
): Promise<CallStats> {
  const { start, end = scopeNow().now, timezone = "UTC", filter = {} } = request;
  checkTime(start, "start");
  checkTime(end, "end");
  const buckets = bucketsBetween(start, end, timezone, request.granularity);
  checkFilter(filter);
  const reader = new StatsReader(engine, scopeNow, { start, end, buckets, filter }, signal);
  const callColumns = metricColumns(request.call_metrics ?? [], callValues, "call_metrics");
  const usageColumns = metricColumns(request.usage_metrics ?? [], usageValues, "usage_metrics");
  const callBuckets = request.call_metrics?.length ? await reader.calls(callColumns) : [];
  const usageBuckets = request.usage_metrics?.length ? await reader.usage(usageColumns) : [];
  return {
    start,
    end,
    granularity: buckets.granularity,
    timezone,
    usage_buckets: usageBuckets,
    call_buckets: callBuckets,
  };
}

function checkTime(us: bigint, name: "start" | "end"): void {
  if (isStorableTime(us)) return;
  throw new HeddleError("invalid", `${name} must be a time between the years 1900 and 2299`, { loc: [name] });
}

interface StatsRange {
  start: bigint;
  end: bigint;
  buckets: Buckets;
  filter: CallsFilter;
}

interface StatsRow {
  bucket: string;
  model?: string;
  count: string;
  [column: `m${number}`]: string | number | null;
}

class StatsReader {
  constructor(
    readonly engine: Engine,
    readonly scopeNow: () => CallScope,
    readonly range: StatsRange,
    readonly signal: AbortSignal | undefined,
  ) {}

  async calls(columns: readonly MetricColumn[]): Promise<StatsBucket[]> {
    const rows = await this.#rows(["latency_us", "toString(status) AS state"], "", columns);
    const byBucket = new Map(rows.map((row) => [BigInt(row.bucket), row]));
    return this.range.buckets.starts.map((start) => toBucket(start, columns, byBucket.get(start)));
  }

  async usage(columns: readonly MetricColumn[]): Promise<UsageBucket[]> {
    const arrays = Object.values(usageValues).filter((name) => name !== undefined);
    const select = ["model", ...new Set(arrays)];
    const joined = select.map((name) => `${name}_list AS ${name}`).join(", ");
    const rows = await this.#rows(
      select.map((name) => `\`usage.${name}\` AS ${name}_list`),
      ` ARRAY JOIN ${joined}`,
      columns,
    );
    const models = [...new Set(rows.flatMap(({ model }) => model ?? []))].toSorted();
    const { starts } = this.range.buckets;
    if (models.length * starts.length > maxUsageBuckets) {
      throw new HeddleError(
        "too_large",
        `${models.length} models in ${starts.length} buckets: take a greater granularity`,
      );
    }
    const byBucket = new Map(rows.map((row) => [`${row.bucket} ${row.model}`, row]));
    return starts.flatMap((start) =>
      models.map((model) => ({ model, ...toBucket(start, columns, byBucket.get(`${start} ${model}`)) })),
    );
  }

  async #rows(select: readonly string[], arrayJoin: string, columns: readonly MetricColumn[]): Promise<StatsRow[]> {
    const { start, end, buckets, filter } = this.range;
    const statement = () => {
      const p = new Parameters();
      const ids = filter.call_ids?.length ? [p.in("id", "String", filter.call_ids)] : [];
      const scope = this.scopeNow();
      const union = visibleCalls(scope, p, {
        select: ["toUnixTimestamp64Micro(started_at) AS us", ...select],
        where: [
          `started_at >= ${p.time(start)}`,
          `started_at < ${p.time(end)}`,
          ...ids,
          ...compileFilter(p, filter, scope.project_id),
        ],
      });
      const keys = arrayJoin === "" ? ["bucket"] : ["bucket", "model"];
      const metrics = columns.map(({ sql }, index) => `${sql} AS m${index}`);
      const outputs = [`${buckets.bucketOf(p, "us")} AS bucket`, ...keys.slice(1), "count() AS count", ...metrics];
      return { sql: `SELECT ${outputs.join(", ")} FROM (${union})${arrayJoin} GROUP BY ${keys.join(", ")}`, params: p };
    };
    return await this.engine.rows<StatsRow>(statement, { signal: this.signal });
  }
}

function toBucket(start: bigint, columns: readonly MetricColumn[], row?: StatsRow): StatsBucket {
  const bucket: StatsBucket = { timestamp: formatTime(start), count: Number(row?.count ?? 0) };
  for (const [index, { key, empty }] of columns.entries()) {
    const value = row?.[`m${index}`] ?? null;
    bucket[key] = value === null ? empty : Number(value);
  }
  return bucket;
}
