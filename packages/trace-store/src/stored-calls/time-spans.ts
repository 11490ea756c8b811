import type { Parameters } from "../engine/parameters.js";

/** Start times of calls, microseconds since 1970. Both ends belong to it. */
export interface TimeSpan {
  from: bigint;
  to: bigint;
}

/** Each is two more expressions that the engine prepares. */
const maxSpans = 8;
/** Spans this near to each other become one first when there are too many. */
const leastGapUs = 1_000_000n;

/** At most eight spans that cover these: near ones become one. */
export function fewSpans(spans: readonly TimeSpan[]): TimeSpan[] {
  const ordered = spans.toSorted((a, b) => (a.from < b.from ? -1 : 1));
  let few = joined(ordered, 0n);
  for (let gap = leastGapUs; few.length > maxSpans; gap *= 2n) few = joined(ordered, gap);
  return few;
}

/** The condition that a call started within one of the spans. */
export function during(p: Parameters, spans: readonly TimeSpan[]): string {
  const within = spans.map(({ from, to }) => `started_at BETWEEN ${p.time(from)} AND ${p.time(to)}`);
  return within.length === 0 ? "0" : `(${within.join(" OR ")})`;
}

function joined(ordered: readonly TimeSpan[], gap: bigint): TimeSpan[] {
  const spans: TimeSpan[] = [];
  for (const { from, to } of ordered) {
    const last = spans.at(-1);
    if (last === undefined || from > last.to + gap) spans.push({ from, to });
    else if (to > last.to) last.to = to;
  }
  return spans;
}
