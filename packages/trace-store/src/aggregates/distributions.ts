import { withLoc } from "@heddle/errors";
import { parseCallField } from "@heddle/trace-model";
import type { CallField } from "@heddle/trace-model";
import type { Parameters } from "../engine/parameters.js";
import { numberOf } from "./metrics.js";

export interface DistributionRequest {
  field: string;
  bins: number;
  /** Bins of equal width on a logarithmic scale; numbers that are not above 0 are not counted. */
  log?: boolean | undefined;
}

export interface Distribution {
  field: string;
  /** How many calls have a number there. */
  count: number;
  /** One more than there are bins; empty where no call has a number. */
  edges: number[];
  counts: number[];
}

export interface ParsedDistribution extends DistributionRequest {
  /** Columns that it needs of a call, as `expression AS name`. */
  select: readonly string[];
  /** SQL of the number over these columns. */
  value: string;
  /** What a column `x0`, `x1`, … is to hold. */
  path: CallField | undefined;
}

/** Numbers that calls have themselves. */
const columns: Readonly<Record<string, { select: string; value: string }>> = {
  latency_ms: { select: "latency_us", value: "latency_us / 1000" },
  tokens_total: { select: "arraySum(`usage.total_tokens`) AS tokens", value: "toFloat64(tokens)" },
  size_bytes: { select: "size_bytes", value: "toFloat64(size_bytes)" },
};

/** Throws `unprocessable`, with the loc of the field, for what calls do not have. */
export function parseDistributions(requests: readonly DistributionRequest[]): ParsedDistribution[] {
  let paths = 0;
  return requests.map((request, index) => {
    const column = Object.hasOwn(columns, request.field) ? columns[request.field] : undefined;
    if (column !== undefined) return { ...request, select: [column.select], value: column.value, path: undefined };
    const path = withLoc(["distributions", index, "field"], () => parseCallField(request.field));
    return { ...request, select: [], value: numberOf(`x${paths++}`), path };
  });
}

/** Runs a statement over rows of the calls. */
type Run = <T>(sql: (rows: string, p: Parameters) => string) => Promise<T[]>;

type Extent = Record<`min${number}` | `max${number}`, number | null>;

/** Finds the ranges first, then counts; what came in between belongs to the outer bins. */
export async function countBins(distributions: readonly ParsedDistribution[], run: Run): Promise<Distribution[]> {
  const values = distributions.map(({ value, log }, index) => {
    return log === true ? `if(${value} > 0, log10(${value}), NULL) AS v${index}` : `${value} AS v${index}`;
  });
  const extents = distributions.map((_, index) => `min(v${index}) AS min${index}, max(v${index}) AS max${index}`);
  const [extent] = await run<Extent>(
    (rows) => `SELECT ${extents.join(", ")} FROM (SELECT ${values.join(", ")} FROM (${rows}))`,
  );
  const scales = distributions.map(({ bins }, index) =>
    scaleOf(bins, extent?.[`min${index}`], extent?.[`max${index}`]),
  );
  const counted = await run<{ d: number; bin: number; calls: string }>((rows, p) => {
    const pairs = scales.map((scale, index) => `(toUInt8(${index}), ${binOf(scale, `v${index}`, p)})`);
    const each = `SELECT arrayJoin([${pairs.join(", ")}]) AS pair FROM (SELECT ${values.join(", ")} FROM (${rows}))`;
    return `SELECT pair.1 AS d, pair.2 AS bin, count() AS calls FROM (${each}) WHERE bin IS NOT NULL GROUP BY d, bin`;
  });
  return distributions.map(({ field, log }, index) => {
    const { low, step, bins } = scales[index] ?? none;
    const counts = Array.from({ length: bins }, () => 0);
    for (const { d, bin, calls } of counted) if (d === index) counts[bin] = Number(calls);
    const edges = Array.from({ length: bins === 0 ? 0 : bins + 1 }, (_, at) => low + at * step);
    return {
      field,
      count: counts.reduce((sum, count) => sum + count, 0),
      edges: log === true ? edges.map((edge) => 10 ** edge) : edges,
      counts,
    };
  });
}

interface Scale {
  low: number;
  step: number;
  bins: number;
}

const none: Scale = { low: 0, step: 0, bins: 0 };

/** One bin where all numbers are equal, none where there are no numbers. */
function scaleOf(bins: number, min: number | null | undefined, max: number | null | undefined): Scale {
  if (min === null || min === undefined || max === null || max === undefined) return none;
  const step = (max - min) / bins;
  return step > 0 && Number.isFinite(step) ? { low: min, step, bins } : { low: min, step: max - min, bins: 1 };
}

function binOf({ low, step, bins }: Scale, value: string, p: Parameters): string {
  if (bins === 0) return "CAST(NULL, 'Nullable(UInt8)')";
  const bin = step > 0 ? `floor((${value} - ${p.bind("Float64", low)}) / ${p.bind("Float64", step)})` : "0";
  return `if(isNull(${value}), NULL, toNullable(toUInt8(greatest(0, least(${bins - 1}, ${bin})))))`;
}
