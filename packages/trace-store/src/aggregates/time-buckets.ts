import { HeddleError } from "@heddle/errors";
import { bucketsBetween } from "../stats/buckets.js";
import type { Buckets } from "../stats/buckets.js";

const [second, minute, hour, day] = [1, 60, 3600, 86_400];
/** Widths that people read, in seconds. */
const widths = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
  ...[1, 2, 7, 14, 28, 91, 182, 364, 1820, 3660].map((n) => n * day),
];

/**
 * At most so many buckets, which begin whenever the clock of the time zone shows a multiple of their width. Throws `invalid` as
 * {@link bucketsBetween} does.
 */
export function bucketsOf(start: bigint, end: bigint, most: number, timezone = "UTC"): Buckets {
  const least = Number(end - start) / 1e6 / most;
  for (const width of widths) {
    if (width < least) continue;
    const buckets = bucketsBetween(start, end, timezone, width);
    if (buckets.starts.length <= most) return buckets;
  }
  throw new HeddleError("invalid", "the range needs more buckets", { loc: ["buckets"] });
}
