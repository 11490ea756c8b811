import { HeddleError } from "@heddle/errors";
import type { Parameters } from "../engine/parameters.js";

const secondUs = 1_000_000n;
const hourS = 3600;
const dayS = 86_400;
const maxBuckets = 10_000;
const maxRangeS = 10 * 366 * dayS;

/** Granularity by default: the first row whose range (seconds) is not exceeded. */
const defaultGranularities: ReadonlyArray<readonly [range: number, granularity: number]> = [
  [2 * hourS, 300],
  [12 * hourS, hourS],
  [3 * dayS, 6 * hourS],
  [14 * dayS, 12 * hourS],
  [Infinity, dayS],
];

/** Time cut into pieces. Times are microseconds since 1970. */
export interface Buckets {
  /** Seconds. */
  granularity: number;
  /** The start of every bucket that has a part in the range, empty ones included. */
  starts: bigint[];
  /** SQL of the start of the bucket that holds a time, both in microseconds. */
  bucketOf(p: Parameters, us: string): string;
}

/**
 * Buckets begin whenever the clock on the wall of the time zone shows a multiple of the granularity. Where that clock
 * is put forward or back a bucket is shorter or longer. A granularity that would make more than 10,000 buckets is
 * raised. Throws `invalid` for a range that is empty or beyond ten years, and for an unknown time zone.
 */
export function bucketsBetween(start: bigint, end: bigint, timezone: string, granularity?: number): Buckets {
  if (end <= start) throw new HeddleError("invalid", "end must be after start", { loc: ["end"] });
  const range = Number(end - start) / 1e6;
  if (range > maxRangeS) throw new HeddleError("invalid", "the range is longer than ten years", { loc: ["start"] });
  const wanted = granularity ?? defaultGranularities.find(([limit]) => range <= limit)?.[1] ?? dayS;
  const seconds = Math.max(wanted, range / wanted > maxBuckets ? Math.floor(range / maxBuckets) + 1 : 1);
  const wall = new WallClock(periodsOf(timezone, start, end), BigInt(seconds) * secondUs);
  const starts = [wall.bucketOf(start)];
  for (let next = wall.after(start); next < end; next = wall.after(next)) starts.push(next);
  return { granularity: seconds, starts, bucketOf: (p, us) => wall.sql(p, us) };
}

/** A time during which a zone keeps its distance from UTC. */
interface Period {
  from: bigint;
  offset: bigint;
}

class WallClock {
  constructor(
    readonly periods: readonly Period[],
    readonly step: bigint,
  ) {}

  /** The last bucket start at or before a time. */
  bucketOf(us: bigint): bigint {
    const index = this.#periodAt(us);
    const { from, offset } = this.#period(index);
    const start = us - modulo(us + offset, this.step);
    return start >= from || index === 0 ? start : this.bucketOf(from - 1n);
  }

  /** The first bucket start after a time. */
  after(us: bigint): bigint {
    let index = this.#periodAt(us);
    let { offset } = this.#period(index);
    let next = us - modulo(us + offset, this.step) + this.step;
    for (;;) {
      const following = this.periods[index + 1];
      if (following === undefined || next < following.from) return next;
      index++;
      ({ offset } = following);
      next = following.from + modulo(-(following.from + offset), this.step);
    }
  }

  sql(p: Parameters, us: string): string {
    const step = p.bind("Int64", this.step);
    const starts = this.periods.map(({ from, offset }, index) => {
      const start = `${us} - positiveModulo(${us} + ${p.bind("Int64", offset)}, ${step})`;
      if (index === 0) return start;
      const before = p.bind("Int64", this.bucketOf(from - 1n));
      return `if(${start} < ${p.bind("Int64", from)}, ${before}, ${start})`;
    });
    const later = starts.slice(1).map((start, index) => ({ from: this.#period(index + 1).from, start }));
    const cases = later.toReversed().map(({ from, start }) => `${us} >= ${p.bind("Int64", from)}, ${start}`);
    return cases.length === 0 ? (starts[0] ?? us) : `multiIf(${[...cases, starts[0]].join(", ")})`;
  }

  #periodAt(us: bigint): number {
    return Math.max(
      0,
      this.periods.findLastIndex(({ from }) => from <= us),
    );
  }

  #period(index: number): Period {
    return this.periods[index] ?? { from: 0n, offset: 0n };
  }
}

/** No zone changes its clock twice within a week. */
const searchMs = 7 * dayS * 1000;

/** The periods of a zone that a range touches; one bucket may begin a while before the range does. */
function periodsOf(timezone: string, start: bigint, end: bigint): Period[] {
  const offsetAt = zoneOffset(timezone);
  const last = Number(end / 1000n) + searchMs;
  let at = Number(start / 1000n) - searchMs;
  const periods = [{ from: BigInt(at) * 1000n, offset: BigInt(offsetAt(at)) * 1000n }];
  for (; at < last; at += searchMs) {
    const to = at + searchMs;
    if (offsetAt(to) === offsetAt(at)) continue;
    const change = firstWith(at, to, (ms) => offsetAt(ms) !== offsetAt(at));
    periods.push({ from: BigInt(change) * 1000n, offset: BigInt(offsetAt(change)) * 1000n });
  }
  return periods;
}

function firstWith(from: number, to: number, holds: (ms: number) => boolean): number {
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Milliseconds that the zone's clock is ahead of UTC at a moment. */
function zoneOffset(timezone: string): (ms: number) => number {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: timezone,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch {
    throw new HeddleError("invalid", `there is no time zone ${timezone}`, { loc: ["timezone"] });
  }
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
    const wall = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
    return wall - Math.floor(ms / 1000) * 1000;
  };
}

function modulo(value: bigint, step: bigint): bigint {
  const rest = value % step;
  return rest < 0n ? rest + step : rest;
}
