import { HeddleError, withLoc } from "@heddle/errors";
import type { ApiSchemas } from "../api-schemas.js";

type Aggregation = ApiSchemas["AggregationType"];
export type CallMetricSpec = ApiSchemas["CallMetricSpec"];
export type UsageMetricSpec = ApiSchemas["UsageMetricSpec"];

/** What each metric of calls is per call: NULL counts for nothing. */
export const callValues: Readonly<Record<CallMetricSpec["metric"], string>> = {
  latency_ms: "latency_us / 1000",
  call_count: "1",
  error_count: "state = 'error'",
};

/** What each metric of usage is per call and model. Costs follow from prices, and there are none yet. */
export const usageValues: Readonly<Record<UsageMetricSpec["metric"], string | undefined>> = {
  input_tokens: "prompt_tokens",
  output_tokens: "completion_tokens",
  total_tokens: "total_tokens",
  cache_read_input_tokens: "cache_read_tokens",
  cache_creation_input_tokens: "cache_creation_tokens",
  input_cost: undefined,
  output_cost: undefined,
  total_cost: undefined,
};

/** One value of a bucket. */
export interface MetricColumn {
  /** `sum_latency_ms`, `p95_latency_ms` … */
  key: string;
  sql: string;
  /** What a bucket without values shows. */
  empty: 0 | null;
}

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

/** Returns the values asked for, each once. Throws `invalid` for what is no metric, aggregation or percentile. */
export function metricColumns<Spec extends CallMetricSpec | UsageMetricSpec>(
  specs: readonly Spec[],
  values: Readonly<Record<Spec["metric"], string | undefined>>,
  list: string,
): MetricColumn[] {
  const columns = new Map<string, MetricColumn>();
  for (const [index, spec] of specs.entries()) {
    const { aggregations = onlySum, percentiles = [] } = spec;
    const metric: Spec["metric"] = spec.metric;
    const loc = [list, index];
    if (!Object.hasOwn(values, metric)) throw invalid(`there is no metric ${metric}`, [...loc, "metric"]);
    const value = values[metric];
    if (value === undefined && (percentiles.length > 0 || aggregations.some((name) => name !== "sum"))) {
      throw invalid(`${metric} can only be summed`, [...loc, "aggregations"]);
    }
    for (const name of aggregations) {
      if (!Object.hasOwn(aggregates, name)) throw invalid(`there is no aggregation ${name}`, [...loc, "aggregations"]);
      if (value === undefined) continue;
      const empty = name === "min" || name === "max" ? null : 0;
      columns.set(`${name}_${metric}`, { key: `${name}_${metric}`, sql: aggregates[name](value), empty });
    }
    for (const percentile of percentiles) {
      const sql = withLoc([...loc, "percentiles"], () => percentileOf(value ?? "0", percentile));
      columns.set(`p${percentile}_${metric}`, { key: `p${percentile}_${metric}`, sql, empty: null });
    }
  }
  return [...columns.values()];
}

/** SQL of a percentile by linear interpolation. Throws `invalid` for one that is not between 0 and 100. */
export function percentileOf(value: string, percentile: number): string {
  if (!(percentile >= 0 && percentile <= 100)) throw invalid("percentiles lie between 0 and 100", []);
  // The level is part of the function's name, so it cannot be bound; it is a number, printed by us.
  return `quantileExactInclusive(${(percentile / 100).toFixed(12)})(${value})`;
}

function invalid(message: string, loc: ReadonlyArray<string | number>): HeddleError {
  return new HeddleError("invalid", message, { loc });
}
