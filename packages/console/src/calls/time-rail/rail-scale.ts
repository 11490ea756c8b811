import type { Bar } from "../histogram/bars.js";

/** Places of a rail are shares of the calls, newest first: 0 is the newest one, 1 the oldest. */
export interface RailScale {
  /** How many calls there are. */
  count: number;
  /** When the call at a place began, about. */
  timeAt: (place: number) => number;
  placeOf: (time: number) => number;
}

/** Where each time is among calls, by how many of them began in each part of the time. Undefined without any. */
export function railScale(bars: readonly Pick<Bar, "from" | "until" | "count">[]): RailScale | undefined {
  const newestFirst = bars.filter(({ count }) => count > 0).toReversed();
  const count = newestFirst.reduce((sum, bar) => sum + bar.count, 0);
  const [newest, oldest] = [newestFirst[0], newestFirst.at(-1)];
  if (newest === undefined || oldest === undefined) return undefined;
  return {
    count,
    timeAt(place) {
      let left = Math.max(0, Math.min(1, place)) * count;
      for (const { from, until, count: ofBar } of newestFirst) {
        if (left <= ofBar) return until - ((until - from) * left) / ofBar;
        left -= ofBar;
      }
      return oldest.from;
    },
    placeOf(time) {
      let before = 0;
      for (const { from, until, count: ofBar } of newestFirst) {
        if (time >= until) break;
        before += ofBar * Math.min(1, (until - time) / (until - from));
      }
      return before / count;
    },
  };
}
