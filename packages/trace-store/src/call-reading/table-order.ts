import type { CallField, SortKey } from "@heddle/trace-model";

interface Positioned {
  id: string;
  started_at: bigint;
}

/** The calls in the order of the table or its reverse: by start, then by the bytes of the id. */
export function inTableOrder<Call extends Positioned>(
  calls: readonly Call[],
  direction: SortKey<CallField>["direction"],
): Call[] {
  const sign = direction === "desc" ? -1 : 1;
  return calls.toSorted((a, b) => sign * compareStarts(a, b));
}

export function compareStarts(a: Positioned, b: Positioned): number {
  if (a.started_at !== b.started_at) return a.started_at < b.started_at ? -1 : 1;
  return Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
}
