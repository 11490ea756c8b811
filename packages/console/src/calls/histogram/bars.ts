import type { CallsAggregateRes } from "@heddle/client/tracing";

/** From the bottom to the top of a bar. */
const barStatuses = ["success", "running", "descendant_error", "error"] as const;
type BarStatus = (typeof barStatuses)[number];

/** A part of time, in milliseconds, and the calls that began in it. */
export interface Bar {
  from: number;
  until: number;
  count: number;
  counts: Record<BarStatus, number>;
}

/** The buckets of a response that is grouped by status, all of them within the range that was asked for. */
export function barsOf({ time, groups }: CallsAggregateRes, range: { from: number; until: number }): Bar[] {
  if (time === undefined) return [];
  const starts = time.starts.map((start) => Date.parse(start));
  return starts.flatMap((start, index): Bar[] => {
    const from = Math.max(start, range.from);
    const until = Math.min(starts[index + 1] ?? start + 1000 * time.seconds, range.until);
    if (until <= from) return [];
    const countOf = (status: BarStatus) => groups.find(({ key }) => key[0] === status)?.series?.["count"]?.[index] ?? 0;
    const counts = {
      success: countOf("success"),
      running: countOf("running"),
      descendant_error: countOf("descendant_error"),
      error: countOf("error"),
    };
    return [{ from, until, counts, count: barStatuses.reduce((sum, status) => sum + counts[status], 0) }];
  });
}

/** The part of the bars that has calls, if that is less than half of them: what is to be looked at closer. */
export function usedPart(bars: readonly Bar[]): { from: number; until: number } | undefined {
  const first = bars.findIndex(({ count }) => count > 0);
  const last = bars.findLastIndex(({ count }) => count > 0);
  const [from, until] = [bars[first]?.from, bars[last]?.until];
  return from === undefined || until === undefined || 2 * (last - first + 1) > bars.length
    ? undefined
    : { from, until };
}

/** A part of a bar as it is drawn: from the top, in hundredths of the height. */
export interface Segment {
  status: BarStatus;
  y: number;
  height: number;
}

/** Where calls are, at least this is drawn. */
const leastHeight = 3;

/** The parts of a bar, stacked. One call among thousands is seen, too. */
export function segmentsOf(bar: Bar, most: number): Segment[] {
  let y = 100;
  return barStatuses.flatMap((status): Segment[] => {
    const count = bar.counts[status];
    if (count === 0) return [];
    const height = Math.min(y, Math.max(leastHeight, (100 * count) / most));
    y -= height;
    return [{ status, y, height }];
  });
}
