import { HeddleError, withLoc } from "@heddle/errors";
import { startOfNewest } from "../call-reading/newest-calls.js";
import { locateSelected, scopeOf } from "../call-reading/selection.js";
import type { SelectionContext } from "../call-reading/selection.js";
import type { ReadOptions } from "../context.js";
import type { Costs } from "../costs/costs.js";
import type { PriceBook } from "../costs/price-book.js";
import { totalCost } from "../costs/cost-of.js";
import { Parameters } from "../engine/parameters.js";
import { fieldsPrice, planCalls } from "../query/call-query.js";
import type { CallSelector } from "../query/call-query.js";
import type { Buckets } from "../stats/buckets.js";
import { checkTime } from "../stats/stats.js";
import { tokenSums, UsageCosts } from "../stats/usage-costs.js";
import type { TokenSums } from "../stats/usage-costs.js";
import type { CallScope } from "../visibility/visible-calls.js";
import { callRows, groupingOf, startUs } from "./call-rows.js";
import type { AggregatedCalls, TimeRange, Top } from "./call-rows.js";
import { Deadline, isTooMuch } from "./deadline.js";
import { countBins, parseDistributions } from "./distributions.js";
import type { Distribution, DistributionRequest, ParsedDistribution } from "./distributions.js";
import { parseGroupKeys } from "./group-keys.js";
import { parseMetrics } from "./metrics.js";
import type { Metric } from "./metrics.js";
import { bucketsOf } from "./time-buckets.js";

export interface AggregateRequest extends Pick<CallSelector, "project_id" | "filter" | "query"> {
  /** Only calls that started in the range, and figures for each of at most so many buckets of it. */
  time?: (TimeRange & { buckets: number; timezone?: string | undefined }) | undefined;
  group_by?: readonly string[] | undefined;
  metrics: readonly string[];
  /** Groups at most, those with most calls. */
  top: number;
  distributions?: readonly DistributionRequest[] | undefined;
}

/** Numbers by the names of metrics; null where no call has a value. */
type Values = Record<string, number | null>;

export interface Figures {
  values: Values;
  /** A number for each bucket, by the names of metrics. */
  series?: Record<string, Array<number | null>>;
}

export interface CallAggregates {
  total: Figures;
  /** By number of calls. */
  groups: Array<Figures & { key: Array<string | null> }>;
  /** All calls that are in no group. */
  other?: Figures;
  /** Starts of the buckets, and their width in seconds. */
  time?: { starts: bigint[]; seconds: number };
  distributions?: Distribution[];
  /** Whether all matching calls are counted; else only those that started `since`. */
  exact: boolean;
  since?: bigint;
}

export interface AggregateContext extends SelectionContext {
  costs: Pick<Costs, "book">;
}

/** Groups × buckets × metrics of one response. */
const maxNumbers = 500_000;
/** Seconds for an exact answer, and for each attempt with fewer calls. */
const exactSeconds = 3;
const sampleSeconds = 1;
/** How many of the newest calls of the project count where all would take too long. */
const samples = [100_000, 10_000, 1000, 100];

/**
 * Figures about the calls that match. Throws as queries do, `unprocessable` for metrics, keys and distributions that are none,
 * and `too_large` for more numbers than a response has.
 */
export async function aggregateCalls(
  context: AggregateContext,
  request: AggregateRequest,
  options: ReadOptions = {},
): Promise<CallAggregates> {
  const groups = parseGroupKeys(request.group_by ?? []);
  const { metrics, fields } = parseMetrics(request.metrics);
  const distributions = parseDistributions(request.distributions ?? []);
  const fieldsOfKeys = groups.keys.flatMap((key) => (typeof key === "object" && "field" in key ? [key.field] : []));
  const plan = planCalls(request, {
    group_by: fieldsPrice(fieldsOfKeys),
    metrics: fieldsPrice(fields),
    distributions: fieldsPrice(distributions.flatMap(({ path }) => path ?? [])),
  });
  const { time } = request;
  const buckets = time && withLoc(["time"], () => rangeBuckets(time));
  const numbers = (groups.keys.length === 0 ? 1 : request.top + 2) * (buckets?.starts.length ?? 1) * metrics.length;
  if (numbers > maxNumbers) {
    const message = `${numbers} numbers: ask for fewer groups, buckets or metrics, at most ${maxNumbers} together`;
    throw new HeddleError("too_large", message, { loc: ["top"] });
  }
  await options.reserve?.(numbers * 24);
  const book = metrics.some(({ sql }) => sql === undefined)
    ? await context.costs.book(request.project_id, options.signal)
    : undefined;
  const byId = await locateSelected(context, plan, options);
  const calls = { plan, byId, groups, fields, range: time, since: undefined };
  const aggregation = { request, metrics, distributions, buckets, book };
  for (const [attempt, sample] of [undefined, ...samples].entries()) {
    const isLast = attempt === samples.length;
    const seconds = sample === undefined ? exactSeconds : sampleSeconds;
    const reader = new AggregateReader(context, aggregation, {
      ...options,
      deadline: isLast ? undefined : new Deadline(seconds),
    });
    try {
      const since =
        sample === undefined ? undefined : await startOfNewest(context, request.project_id, sample, options);
      const read = await reader.read({ ...calls, since });
      return { ...read, exact: since === undefined, ...(since !== undefined && { since }) };
    } catch (error) {
      if (isLast || !isTooMuch(error)) throw error;
    }
  }
  throw new HeddleError("failed", "no attempt was made");
}

function rangeBuckets({ start, end, buckets, timezone }: NonNullable<AggregateRequest["time"]>): Buckets {
  checkTime(start, "start");
  checkTime(end, "end");
  return bucketsOf(start, end, buckets, timezone);
}

interface Aggregation {
  request: AggregateRequest;
  metrics: readonly Metric[];
  distributions: readonly ParsedDistribution[];
  buckets: Buckets | undefined;
  book: PriceBook | undefined;
}

interface Row extends Record<`m${number}`, string | number | null> {
  calls: string;
  g?: number;
  bucket?: string;
  all_groups?: number;
  all_buckets?: number;
  key?: Array<string | null>;
}

/** Any time that calls start at. Microseconds since 1970. */
const everyTime = { start: -(2n ** 60n), end: 2n ** 60n };

class AggregateReader {
  constructor(
    readonly context: AggregateContext,
    readonly aggregation: Aggregation,
    readonly options: ReadOptions & { deadline: Deadline | undefined },
  ) {}

  async read(calls: AggregatedCalls): Promise<Omit<CallAggregates, "exact" | "since">> {
    const { buckets, distributions } = this.aggregation;
    const top = calls.groups.keys.length === 0 ? undefined : await this.#top(calls);
    const rows = await this.#rows(calls, top);
    const costs = await this.#costs(calls, top);
    const figures = (g: number | undefined) => this.#figures(rows, costs, g);
    const groups = (top ?? []).flatMap((_, index) => {
      const row = rows.find((found) => found.g === index + 1 && found.all_groups === 0 && found.all_buckets !== 0);
      return row === undefined ? [] : [{ row, group: { key: row.key ?? [], ...figures(index + 1) } }];
    });
    const hasOther = rows.some(({ g, all_groups }) => g === 0 && all_groups === 0);
    return {
      total: figures(undefined),
      groups: groups.toSorted((a, b) => Number(b.row.calls) - Number(a.row.calls)).map(({ group }) => group),
      ...(hasOther && { other: figures(0) }),
      ...(buckets && { time: { starts: buckets.starts, seconds: buckets.granularity } }),
      ...(distributions.length > 0 && { distributions: await this.#distributions(calls) }),
    };
  }

  /** The keys that most calls have. */
  async #top(calls: AggregatedCalls): Promise<Top[]> {
    const { top } = this.aggregation.request;
    return await this.#select<Top>(calls, (scope, p) => {
      const rows = callRows(calls, scope, p, {});
      return `SELECT toString(h) AS hash FROM (${rows}) GROUP BY h ORDER BY countIf(is_first) DESC, h LIMIT ${p.bind("UInt32", top)}`;
    });
  }

  /** One statement, so that groups and buckets add up. */
  async #rows(calls: AggregatedCalls, top: readonly Top[] | undefined): Promise<Row[]> {
    const { metrics, buckets } = this.aggregation;
    return await this.#select<Row>(calls, (scope, p) => {
      const select = buckets === undefined ? [] : [startUs];
      const rows = callRows(calls, scope, p, { select, metrics, fields: true });
      const sets = groupingSets(top !== undefined, buckets !== undefined);
      const outputs = [
        "countIf(is_first) AS calls",
        ...metrics.map(({ sql = "0" }, index) => `${sql} AS m${index}`),
        ...(top === undefined ? [] : ["g", "toUInt8(grouping(g)) AS all_groups", keysOf(calls)]),
        ...(buckets === undefined ? [] : ["bucket", "toUInt8(grouping(bucket)) AS all_buckets"]),
      ];
      const from = `SELECT ${["*", ...groupingOf(p, top, buckets)].join(", ")} FROM (${rows})`;
      return `SELECT ${outputs.join(", ")} FROM (${from})${sets}`;
    });
  }

  /** Costs by group and bucket, and of all. */
  async #costs(calls: AggregatedCalls, top: readonly Top[] | undefined): Promise<Map<string, number>> {
    const sums = new Map<string, number>();
    const { book, buckets } = this.aggregation;
    if (book === undefined) return sums;
    const costs = new UsageCosts(book, everyTime);
    const keys = [...(top === undefined ? [] : ["g"]), ...(buckets === undefined ? [] : ["bucket"])];
    type CostRow = TokenSums & { g?: number };
    const rows = await this.#select<CostRow>(calls, (scope, p) => {
      const counted = callRows(calls, scope, p, { select: [startUs], costs: true });
      const counts = ["prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_creation_tokens"];
      const columns = [
        "model",
        ...counts.map((count) => `${count}_of AS ${count}`),
        `${costs.periodOf(p, "us")} AS period`,
      ];
      const from = `SELECT ${[...columns, ...groupingOf(p, top, buckets)].join(", ")} FROM (${counted})`;
      const grouped = ["model", "period", ...keys];
      return `SELECT ${[...grouped, ...tokenSums].join(", ")} FROM (${from}) WHERE model != '' GROUP BY ${grouped.join(", ")}
        LIMIT ${maxNumbers + 1}`;
    });
    if (rows.length > maxNumbers) {
      throw new HeddleError("too_large", "too many models in too many groups and buckets: ask for fewer", {
        loc: ["top"],
      });
    }
    const cells = new Set<string>();
    const models = new Set<string>();
    for (const row of rows) {
      const cell = cellOf(row.g, row.bucket);
      costs.add({ ...row, bucket: cell });
      cells.add(cell);
      models.add(row.model ?? "");
    }
    for (const cell of cells) {
      const [g = "", bucket = ""] = cell.split(":");
      const cost = [...models].reduce((sum, model) => {
        const found = costs.of(cell, model);
        return found === undefined ? sum : sum + totalCost(found);
      }, 0);
      const sets = new Set([cell, cellOf(undefined, bucket), cellOf(g, undefined), cellOf(undefined, undefined)]);
      for (const set of sets) sums.set(set, (sums.get(set) ?? 0) + cost);
    }
    return sums;
  }

  /** Of a group, 0 for the others; of all calls without one. */
  #figures(rows: readonly Row[], costs: ReadonlyMap<string, number>, group: number | undefined): Figures {
    const { metrics, buckets } = this.aggregation;
    const mine = rows.filter(({ g, all_groups = 1 }) =>
      group === undefined ? all_groups === 1 : all_groups === 0 && g === group,
    );
    const value = ({ name: _, sql, empty }: Metric, index: number, row: Row | undefined, bucket?: bigint) => {
      if (sql === undefined) return costs.get(cellOf(group, bucket)) ?? 0;
      const found = row?.[`m${index}`];
      return found === undefined || found === null ? empty : Number(found);
    };
    const whole = mine.find(({ all_buckets = 1 }) => all_buckets === 1);
    const values = Object.fromEntries(metrics.map((metric, index) => [metric.name, value(metric, index, whole)]));
    if (buckets === undefined) return { values };
    const byBucket = new Map(
      mine.flatMap((row) => (row.all_buckets === 0 ? [[BigInt(row.bucket ?? 0), row] as const] : [])),
    );
    const series = Object.fromEntries(
      metrics.map((metric, index) => [
        metric.name,
        buckets.starts.map((start) => value(metric, index, byBucket.get(start), start)),
      ]),
    );
    return { values, series };
  }

  async #distributions(calls: AggregatedCalls): Promise<Distribution[]> {
    const { distributions } = this.aggregation;
    const fields = distributions.flatMap(({ path }) => path ?? []);
    const ungrouped = { ...calls, fields, groups: { keys: [], byModel: false } };
    const select = distributions.flatMap((distribution) => distribution.select);
    return await countBins(distributions, async <T>(sql: (rows: string, p: Parameters) => string) => {
      const rowsOf = (scope: CallScope, p: Parameters) => callRows(ungrouped, scope, p, { select, fields: true });
      return await this.#select<T>(ungrouped, (scope, p) => sql(rowsOf(scope, p), p));
    });
  }

  async #select<T>({ plan }: AggregatedCalls, sqlOf: (scope: CallScope, p: Parameters) => string): Promise<T[]> {
    const { deadline, signal } = this.options;
    const scope = scopeOf(this.context, plan.project_id);
    const statement = () => {
      const p = new Parameters();
      return { sql: sqlOf(scope(), p), params: p };
    };
    const settings = { ...deadline?.settings, output_format_json_quote_denormals: 0 as const };
    return await this.context.engine.rows<T>(statement, { signal, settings });
  }
}

/** The texts of the keys of a group. */
function keysOf({ groups: { keys } }: AggregatedCalls): string {
  return `[${keys.map((_, index) => `any(k${index})`).join(", ")}] AS key`;
}

function groupingSets(byGroup: boolean, byBucket: boolean): string {
  if (!byGroup && !byBucket) return "";
  const sets = [
    "()",
    ...(byGroup ? ["(g)"] : []),
    ...(byBucket ? ["(bucket)"] : []),
    ...(byGroup && byBucket ? ["(g, bucket)"] : []),
  ];
  return ` GROUP BY GROUPING SETS (${sets.join(", ")})`;
}

const cellOf = (group: number | string | undefined, bucket: bigint | string | undefined): string =>
  `${group ?? ""}:${bucket ?? ""}`;
