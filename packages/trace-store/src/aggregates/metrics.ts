import { HeddleError, withLoc } from "@heddle/errors";
import { parseCallField } from "@heddle/trace-model";
import type { CallField } from "@heddle/trace-model";
import type { usageCounts } from "../stored-calls/call-sides.js";

/** A number about several calls. */
export interface Metric {
  /** As it was asked for. */
  name: string;
  /** Columns that it needs of a call, as `expression AS name`. */
  select: readonly string[];
  /** The tokens that it needs of a row, as a column `…_of`. */
  tokens?: TokenCount;
  /** SQL of the number over rows with these columns; undefined for costs, which follow from sums of tokens. */
  sql: string | undefined;
  /** What no calls have. */
  empty: 0 | null;
}

type TokenCount = (typeof usageCounts)[number];

/** The counts that tokens of each kind are in. */
const tokenCounts: Readonly<Record<string, TokenCount>> = {
  requests: "requests",
  tokens_input: "prompt_tokens",
  tokens_output: "completion_tokens",
  tokens_total: "total_tokens",
  tokens_cache_read: "cache_read_tokens",
  tokens_cache_creation: "cache_creation_tokens",
};

const percentiles = ["latency_p50", "latency_p95", "latency_p99"];
/** One list of levels, so that the engine keeps the values once. */
const quantiles = "quantilesExactInclusiveIf(0.5, 0.95, 0.99)(latency_us, is_first AND isNotNull(latency_us))";

const ofCalls: Readonly<Record<string, Omit<Metric, "name">>> = {
  count: { select: [], sql: "countIf(is_first)", empty: 0 },
  errors: { select: ["toString(status) AS state"], sql: "countIf(is_first AND state = 'error')", empty: 0 },
  running: { select: ["latency_us"], sql: "countIf(is_first AND isNull(latency_us))", empty: 0 },
  latency_avg: { select: ["latency_us"], sql: "avgIf(latency_us, is_first) / 1000", empty: null },
  latency_max: { select: ["latency_us"], sql: "maxIf(latency_us, is_first) / 1000", empty: null },
  ...Object.fromEntries(
    percentiles.map((name, index) => [
      name,
      { select: ["latency_us"], sql: `${quantiles}[${index + 1}] / 1000`, empty: null },
    ]),
  ),
  cost: { select: [], sql: undefined, empty: 0 },
};

const names = [...Object.keys(ofCalls), ...Object.keys(tokenCounts)];

/** The metrics of a request, each once; `fields` are those whose mean is asked for, as columns `x0`, `x1`, … */
export interface Metrics {
  metrics: Metric[];
  fields: CallField[];
}

/** Throws `unprocessable`, with the loc of the metric, for what is none. */
export function parseMetrics(texts: readonly string[]): Metrics {
  const fields: CallField[] = [];
  const metrics = [...new Set(texts)].map((name): Metric => {
    const loc = ["metrics", texts.indexOf(name)];
    const tokens = Object.hasOwn(tokenCounts, name) ? tokenCounts[name] : undefined;
    if (tokens !== undefined) return { name, select: [], tokens, sql: `sum(${tokens}_of)`, empty: 0 };
    const known = Object.hasOwn(ofCalls, name) ? ofCalls[name] : undefined;
    if (known !== undefined) return { name, ...known };
    const field = name.startsWith("feedback.") ? withLoc(loc, () => parseCallField(name)) : undefined;
    if (field?.kind !== "feedback" || field.part !== "payload") {
      const message = `there is no metric ${name}; there are ${names.join(", ")}, and feedback.[<type>].payload.<path>`;
      throw new HeddleError("unprocessable", message, { loc });
    }
    const column = `x${fields.push(field) - 1}`;
    return { name, select: [], sql: `avgIf(${numberOf(column)}, is_first)`, empty: null };
  });
  return { metrics, fields };
}

/** SQL of the number in a text; true is 1, false 0. */
export function numberOf(column: string): string {
  const number = `toFloat64OrNull(${column})`;
  return `multiIf(${column} = 'true', 1., ${column} = 'false', 0., isFinite(${number}), ${number}, NULL)`;
}
