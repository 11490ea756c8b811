import { HeddleError, withLoc } from "@heddle/errors";
import type { ApiSchemas } from "../api-schemas.js";
import type { TokenCosts } from "../costs/cost-of.js";

type Aggregation = ApiSchemas["AggregationType"];
export type CallMetricSpec = ApiSchemas["CallMetricSpec"];
export type UsageMetricSpec = ApiSchemas["UsageMetricSpec"];

/** SQL of a metric per call, or per call and model: NULL counts for nothing. */
type MetricValue = string | CostValue;

/** A cost. It can only be summed, and follows from sums of tokens. */
interface CostValue {
  of: Array<keyof TokenCosts>;
  /** Metrics whose sums come with it. */
  with: readonly string[];
}

export const callValues: Readonly<Record<CallMetricSpec["metric"], MetricValue>> = {
  latency_ms: "latency_us / 1000",
  call_count: "1",
  error_count: "state = 'error'",
};

/** The value of a metric for a call that runs: NULL counts for nothing. */
const runningValues: Readonly<Record<CallMetricSpec["metric"], 0 | 1 | null>> = {
  latency_ms: null,
  call_count: 1,
  error_count: 0,
};

const inputCosts: Array<keyof TokenCosts> = [
  "prompt_tokens_total_cost",
  "cache_read_input_tokens_total_cost",
  "cache_creation_input_tokens_total_cost",
];
const outputCosts: Array<keyof TokenCosts> = ["completion_tokens_total_cost"];

export const usageValues: Readonly<Record<UsageMetricSpec["metric"], MetricValue>> = {
  input_tokens: "prompt_tokens",
  output_tokens: "completion_tokens",
  total_tokens: "total_tokens",
  cache_read_input_tokens: "cache_read_tokens",
  cache_creation_input_tokens: "cache_creation_tokens",
  input_cost: { of: inputCosts, with: ["input_tokens"] },
  output_cost: { of: outputCosts, with: ["output_tokens"] },
  total_cost: { of: [...inputCosts, ...outputCosts], with: ["input_tokens", "output_tokens"] },
};

/** Whether a metric needs prices. */
export function isCost({ metric }: UsageMetricSpec): boolean {
  return typeof usageValues[metric] === "object";
}

/** One value of a bucket. */
export interface MetricColumn {
  /** `sum_latency_ms`, `p95_latency_ms` … */
  key: string;
  /** SQL of the value, or the costs that it is the sum of. */
  value: string | ReadonlyArray<keyof TokenCosts>;
  /** What a bucket without values shows. */
  empty: 0 | null;
  /** What each running call adds to it; undefined when that depends on the other calls. */
  perRunning: 0 | 1 | undefined;
}

/** What a call adds that has this value. */
const added: Readonly<Record<Aggregation, ((value: 0 | 1) => 0 | 1) | undefined>> = {
  sum: (value) => value,
  count: () => 1,
  count_true: (value) => value,
  count_false: (value) => (value === 0 ? 1 : 0),
  avg: undefined,
  min: undefined,
  max: undefined,
};

const isCallMetric = (metric: string): metric is CallMetricSpec["metric"] => Object.hasOwn(runningValues, metric);

const onlySum: readonly Aggregation[] = ["sum"];

/** SQL of each aggregation of a value; NULL counts for nothing. */
export const aggregates: Readonly<Record<Aggregation, (value: string) => string>> = {
  sum: (value) => `sum(${value})`,
  avg: (value) => `avg(${value})`,
  min: (value) => `min(${value})`,
  max: (value) => `max(${value})`,
  count: (value) => `count(${value})`,
  count_true: (value) => `countIf(${value} != 0)`,
  count_false: (value) => `countIf(${value} = 0)`,
};

/** Returns the values asked for, each once. Throws `invalid` for what is not a metric, aggregation or percentile. */
export function metricColumns(
  specs: ReadonlyArray<CallMetricSpec | UsageMetricSpec>,
  values: Readonly<Record<string, MetricValue>>,
  list: string,
): MetricColumn[] {
  const columns = new Map<string, MetricColumn>();
  const add = (aggregation: Aggregation, metric: string, sql: string) => {
    const key = `${aggregation}_${metric}`;
    const empty = aggregation === "min" || aggregation === "max" ? null : 0;
    const value = isCallMetric(metric) ? runningValues[metric] : null;
    const perRunning = value === null ? 0 : added[aggregation]?.(value);
    columns.set(key, { key, value: aggregates[aggregation](sql), empty, perRunning });
  };
  const levelsOf = (metric: string) =>
    specs.flatMap((spec) => (spec.metric === metric ? (spec.percentiles ?? []) : []));
  for (const [index, spec] of specs.entries()) {
    const { aggregations = onlySum, percentiles = [] } = spec;
    const { metric } = spec;
    const loc = [list, index];
    const value = Object.hasOwn(values, metric) ? values[metric] : undefined;
    if (value === undefined) throw invalid(`there is no metric ${metric}`, [...loc, "metric"]);
    const wrong = aggregations.find((name) => !Object.hasOwn(aggregates, name));
    if (wrong !== undefined) throw invalid(`there is no aggregation ${wrong}`, [...loc, "aggregations"]);
    if (typeof value === "object") {
      if (percentiles.length > 0) throw invalid(`${metric} can only be summed`, [...loc, "percentiles"]);
      if (aggregations.some((name) => name !== "sum")) {
        throw invalid(`${metric} can only be summed`, [...loc, "aggregations"]);
      }
      for (const name of value.with) {
        const tokens = values[name];
        if (typeof tokens === "string") add("sum", name, tokens);
      }
      if (aggregations.length > 0)
        columns.set(`sum_${metric}`, { key: `sum_${metric}`, value: value.of, empty: 0, perRunning: 0 });
      continue;
    }
    for (const name of aggregations) add(name, metric, value);
    for (const percentile of percentiles) {
      const sql = withLoc([...loc, "percentiles"], () => percentileOf(value, percentile, levelsOf(metric)));
      const key = `p${percentile}_${metric}`;
      const perRunning = isCallMetric(metric) && runningValues[metric] !== null ? undefined : 0;
      columns.set(key, { key, value: sql, empty: null, perRunning });
    }
  }
  return [...columns.values()];
}

/**
 * SQL of a percentile by linear interpolation. `all` are the percentiles asked for of the value: as an item of one list of
 * them the engine keeps the values once, not once for each. Throws `invalid` for one that is not between 0 and 100.
 */
export function percentileOf(value: string, percentile: number, all: readonly number[]): string {
  if (!(percentile >= 0 && percentile <= 100)) throw invalid("percentiles lie between 0 and 100", []);
  const levels = [...new Set(all)].filter((level) => level >= 0 && level <= 100);
  // The levels are part of the function's name, so they cannot be bound; they are numbers, printed by us.
  const names = levels.map((level) => (level / 100).toFixed(12)).join(", ");
  return `quantilesExactInclusive(${names})(${value})[${levels.indexOf(percentile) + 1}]`;
}

function invalid(message: string, loc: ReadonlyArray<string | number>): HeddleError {
  return new HeddleError("invalid", message, { loc });
}
