/** Days that usage is shown for; the first where the address names none. */
export const periods = ["30", "7", "90"] as const;
export const measures = ["cost", "tokens", "calls"] as const;
export type Measure = (typeof measures)[number];

/** What an address says of usage. */
export interface UsageSearch {
  days?: (typeof periods)[number];
  of?: Measure;
}

/** What is not said well is left out. */
export function readUsageSearch(given: Record<string, unknown>): UsageSearch {
  const days = periods.slice(1).find((period) => period === given["days"]);
  const of = measures.slice(1).find((measure) => measure === given["of"]);
  return { ...(days !== undefined && { days }), ...(of !== undefined && { of }) };
}

const dayMs = 86_400_000;

/** From midnight of the first day to that after today, in the zone of the reader. */
export function rangeOf(days: number, now: number): { start: string; end: string; buckets: number } {
  const end = new Date(now);
  end.setHours(24, 0, 0, 0);
  const start = new Date(end);
  start.setDate(start.getDate() - days);
  // A day that is an hour longer is one nonetheless.
  const buckets = Math.round((end.getTime() - start.getTime()) / dayMs);
  return { start: start.toISOString(), end: end.toISOString(), buckets };
}
