import { HeddleError } from "@heddle/errors";
import type { ApiSchemas } from "../api-schemas.js";
import { formatTime, isStorableTime } from "@heddle/trace-model";
import { runningTimes } from "../call-reading/running-in-memory.js";
import { Parameters } from "../engine/parameters.js";
import { compileFilter, checkFilter } from "../query/filter.js";
import type { CallsFilter } from "../query/filter.js";
import { bucketsBetween } from "./buckets.js";
import type { Buckets } from "./buckets.js";
import { callValues, isCost, metricColumns, usageValues } from "./metrics.js";
import type { MetricColumn } from "./metrics.js";
import { tokenSums, UsageCosts } from "./usage-costs.js";
import type { TokenSums } from "./usage-costs.js";
import type { TokenCosts } from "../costs/cost-of.js";
import type { PriceBook } from "../costs/price-book.js";
import type { UsageSource } from "../usage/usage.js";
import { readWithRunning } from "../visibility/read-with-running.js";
import { visibleCalls } from "../visibility/visible-calls.js";

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
export async function callStats(source: UsageSource, request: CallStatsRequest): Promise<CallStats> {
  const { start, end = source.scope().now, timezone = "UTC", filter = {} } = request;
  checkTime(start, "start");
  checkTime(end, "end");
  const buckets = bucketsBetween(start, end, timezone, request.granularity);
  checkFilter(filter);
  const reader = new StatsReader(source, { start, end, buckets, filter });
  const callColumns = metricColumns(request.call_metrics ?? [], callValues, "call_metrics");
  const usageColumns = metricColumns(request.usage_metrics ?? [], usageValues, "usage_metrics");
  const callBuckets = request.call_metrics?.length ? await reader.calls(callColumns) : [];
  const book = request.usage_metrics?.some(isCost) === true ? await source.readBook() : undefined;
  const usageBuckets = request.usage_metrics?.length ? await reader.usage(usageColumns, book) : [];
  return {
    start,
    end,
    granularity: buckets.granularity,
    timezone,
    usage_buckets: usageBuckets,
    call_buckets: callBuckets,
  };
}

/** Throws `invalid` for a time that the engine cannot hold. */
export function checkTime(us: bigint, name: "start" | "end"): void {
  if (isStorableTime(us)) return;
  throw new HeddleError("invalid", `${name} must be a time between the years 1900 and 2299`, { loc: [name] });
}

interface StatsRange {
  start: bigint;
  end: bigint;
  buckets: Buckets;
  filter: CallsFilter;
}

interface StatsRow extends TokenSums {
  count: string;
  /** 1 for sums of a bucket and model that has several periods as well. */
  whole?: number;
  [column: `m${number}`]: string | number | null;
}

class StatsReader {
  constructor(
    readonly source: UsageSource,
    readonly range: StatsRange,
  ) {}

  async calls(columns: readonly MetricColumn[]): Promise<StatsBucket[]> {
    const read = async (only?: "complete") => ({
      rows: await this.#rows(["latency_us", "toString(status) AS state"], columns, { only }),
      starts: [] as readonly bigint[],
    });
    const { start, end, filter, buckets } = this.range;
    const scope = this.source.scope();
    const adds = columns.every(({ perRunning }) => perRunning !== undefined);
    const starts = adds ? runningTimes(scope, filter)?.filter((us) => us >= start && us < end) : undefined;
    const running = starts && { starts, count: starts.length };
    const found = await readWithRunning(scope, running, read, ({ rows }) => ({ rows, starts: starts ?? [] }));
    const byBucket = new Map(found.rows.map((row) => [BigInt(row.bucket), row]));
    const counts = countsOf(buckets.starts, found.starts);
    return buckets.starts.map((from, index) =>
      withRunning(toBucket(from, columns, byBucket.get(from)), columns, counts[index] ?? 0),
    );
  }

  async usage(columns: readonly MetricColumn[], book: PriceBook | undefined): Promise<UsageBucket[]> {
    const costs = book === undefined ? undefined : new UsageCosts(book, this.range);
    const select = usageArrays.map((name) => `\`usage.${name}\` AS ${name}_list`);
    // What a call used is known when it has ended.
    const read = await this.#rows(select, columns, { usage: { costs }, only: "complete" });
    const rows = read.filter(({ whole = 1 }) => whole === 1);
    for (const row of costs?.hasPeriods === true ? read.filter(({ whole }) => whole === 0) : rows) costs?.add(row);
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
      models.map((model) => ({
        model,
        ...toBucket(start, columns, byBucket.get(`${start} ${model}`), costs?.of(String(start), model)),
      })),
    );
  }

  /** By bucket; with `usage` by bucket and model, and with costs whose prices change by period as well. */
  async #rows(
    select: readonly string[],
    columns: readonly MetricColumn[],
    { usage, only }: { usage?: { costs: UsageCosts | undefined }; only?: "complete" | undefined },
  ): Promise<StatsRow[]> {
    const { start, end, buckets, filter } = this.range;
    const { engine, scope, signal } = this.source;
    const joined = usageArrays.map((name) => `${name}_list AS ${name}`).join(", ");
    const keys = usage === undefined ? ["bucket"] : ["bucket", "model"];
    const metrics = columns.map(({ value }, index) => `${typeof value === "string" ? value : "0"} AS m${index}`);
    const statement = () => {
      const p = new Parameters();
      const ids = filter.call_ids?.length ? [p.in("id", "String", filter.call_ids)] : [];
      const current = scope();
      const which = [...ids, ...compileFilter(p, filter, current.project_id)];
      const calls = visibleCalls(current, p, {
        only,
        select: ["toUnixTimestamp64Micro(started_at) AS us", ...select],
        where: [`started_at >= ${p.time(start)}`, `started_at < ${p.time(end)}`, ...which],
        aggregation: which.length === 0 ? "rows" : undefined,
      });
      const outputs = [`${buckets.bucketOf(p, "us")} AS bucket`, ...keys.slice(1), "count() AS count", ...metrics];
      if (usage?.costs !== undefined) outputs.push(...tokenSums);
      let grouping = keys.join(", ");
      if (usage?.costs?.hasPeriods === true) {
        outputs.push(`${usage.costs.periodOf(p, "us")} AS period`, "toUInt8(grouping(period)) AS whole");
        grouping = `GROUPING SETS ((${grouping}), (${grouping}, period))`;
      }
      const from = usage === undefined ? `(${calls})` : `(${calls}) ARRAY JOIN ${joined}`;
      return { sql: `SELECT ${outputs.join(", ")} FROM ${from} GROUP BY ${grouping}`, params: p };
    };
    return await engine.rows<StatsRow>(statement, { signal });
  }
}

/** How many of the times lie in each bucket, in the order of the buckets. */
function countsOf(starts: readonly bigint[], times: readonly bigint[]): number[] {
  const ordered = times.toSorted((a, b) => (a < b ? -1 : 1));
  const counts = starts.map(() => 0);
  let index = 0;
  for (const us of ordered) {
    while (index + 1 < starts.length && (starts[index + 1] ?? us) <= us) index++;
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}

/** A bucket of complete calls with as many running ones. */
function withRunning(bucket: StatsBucket, columns: readonly MetricColumn[], running: number): StatsBucket {
  const changed = columns.filter(({ perRunning }) => running > 0 && perRunning === 1);
  const added = changed.map(({ key }) => [key, Number(bucket[key]) + running]);
  return { ...bucket, count: bucket.count + running, ...Object.fromEntries(added) };
}

const usageArrays = [
  "model",
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "cache_read_tokens",
  "cache_creation_tokens",
] as const;

function toBucket(
  start: bigint,
  columns: readonly MetricColumn[],
  row?: StatsRow,
  costs?: Readonly<TokenCosts>,
): StatsBucket {
  const bucket: StatsBucket = { timestamp: formatTime(start), count: Number(row?.count ?? 0) };
  for (const [index, { key, value, empty }] of columns.entries()) {
    const found = typeof value === "string" ? row?.[`m${index}`] : costs && sumOf(value, costs);
    bucket[key] = found === undefined || found === null ? empty : Number(found);
  }
  return bucket;
}

function sumOf(names: ReadonlyArray<keyof TokenCosts>, costs: Readonly<TokenCosts>): number {
  return names.reduce((sum, name) => sum + costs[name], 0);
}
