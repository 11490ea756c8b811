import type { Engine, Statement } from "../../engine/engine.js";

/** Values after one and up to another, and how many rows have them. */
export interface Slice {
  after: bigint;
  upTo: bigint;
  rows: number;
}

const buckets = 10_000n;

/**
 * Counts the rows of many small slices. `count` makes the statement that counts them in groups: rows of `bucket`, which is
 * the whole part of (value - after - 1) / step, and `rows`.
 */
export async function smallSlices(
  engine: Engine,
  { after, upTo }: Pick<Slice, "after" | "upTo">,
  count: (step: bigint) => Statement,
): Promise<Slice[]> {
  if (upTo <= after) return [];
  const step = (upTo - after) / buckets + 1n;
  const found = await engine.rows<{ bucket: string; rows: string }>(count(step));
  return found.map(({ bucket, rows }) => {
    const from = after + BigInt(bucket) * step;
    return { after: from, upTo: from + step, rows: Number(rows) };
  });
}

/** Joins slices, in their order, until each has about `most` rows; together they leave out nothing of the whole. */
export function joinSlices(
  { after, upTo }: Pick<Slice, "after" | "upTo">,
  small: readonly Slice[],
  most: number,
): Slice[] {
  if (upTo <= after) return [];
  const joined: Slice[] = [];
  let slice: Slice = { after, upTo, rows: 0 };
  for (const next of small) {
    if (slice.rows > 0 && slice.rows + next.rows > most) {
      joined.push({ ...slice, upTo: next.after });
      slice = { after: next.after, upTo, rows: 0 };
    }
    slice.rows += next.rows;
  }
  return [...joined, slice];
}
