/** From a row on to before another. */
export interface Range {
  first: number;
  end: number;
}

/** The first rows are few, so that they are there soon; the others are a few numbers each, and come many at a time. */
const [few, many] = [200, 10_000];

/** The first row of a piece. */
export const offsetOf = (at: number): number => (at === 0 ? 0 : few + (at - 1) * many);

/** How many rows a piece has at most. */
export const limitOf = (at: number): number => (at === 0 ? few : many);

/** The pieces that the rows of a range are in. */
export function piecesIn({ first, end }: Range, total: number): number[] {
  const of = (row: number) => (row < few ? 0 : 1 + Math.floor((row - few) / many));
  const found: number[] = [];
  for (let at = of(first); offsetOf(at) < Math.min(end, total); at++) found.push(at);
  return found;
}

/** Rows by their places; those of pieces that were not read are absent. */
export function rowsAt<Row>(
  pieces: Iterable<readonly [at: number, rows: readonly Row[] | undefined]>,
): ReadonlyMap<number, Row> {
  const found = new Map<number, Row>();
  for (const [at, rows = []] of pieces) rows.forEach((row, index) => found.set(offsetOf(at) + index, row));
  return found;
}
