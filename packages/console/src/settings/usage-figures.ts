import type { CallsAggregateResult } from "@heddle/client/tracing";

export interface Figures {
  calls: number;
  errors: number;
  requests: number;
  input: number;
  output: number;
  tokens: number;
  cost: number;
}

const metricOf: Record<keyof Figures, string> = {
  calls: "count",
  errors: "errors",
  requests: "requests",
  input: "tokens_input",
  output: "tokens_output",
  tokens: "tokens_total",
  cost: "cost",
};
const names = Object.keys(metricOf) as (keyof Figures)[];
export const usageMetrics = Object.values(metricOf);

const figuresBy = (value: (metric: string) => number | null | undefined): Figures =>
  Object.fromEntries(names.map((name) => [name, value(metricOf[name]) ?? 0])) as unknown as Figures;

export interface Usage {
  total: Figures;
  /** One each, the newest first. */
  days: (Figures & { start: string })[];
  /** Dearest first. */
  models: (Figures & { model: string })[];
  /** Of models beyond those, and of calls of none. */
  rest: Figures | undefined;
}

/** A response by models and days, as tables have it. */
export function usageOf({ total, groups, other, time }: CallsAggregateResult): Usage {
  const starts = time?.starts ?? [];
  const series = total.series ?? {};
  const unnamed = groups.filter(({ key: [model] }) => model === null || model === undefined || model === "");
  return {
    total: figuresBy((metric) => total.values[metric]),
    days: starts.map((start, index) => ({ start, ...figuresBy((metric) => series[metric]?.[index]) })).toReversed(),
    models: groups
      .filter((group) => !unnamed.includes(group))
      .map(({ key: [model], values }) => ({ model: model ?? "", ...figuresBy((metric) => values[metric]) }))
      .toSorted((a, b) => b.cost - a.cost || b.tokens - a.tokens || b.calls - a.calls),
    rest: sumOf(
      [...unnamed, ...(other === undefined ? [] : [other])].map(({ values }) => figuresBy((name) => values[name])),
    ),
  };
}

function sumOf(all: readonly Figures[]): Figures | undefined {
  if (all.length === 0) return undefined;
  return Object.fromEntries(
    names.map((name) => [name, all.reduce((sum, figures) => sum + figures[name], 0)]),
  ) as unknown as Figures;
}
