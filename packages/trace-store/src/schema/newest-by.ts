/**
 * The newest row of each key, of rows that were read without FINAL: the engine would take longer to leave out older ones, of
 * which there are hardly any.
 */
export function newestBy<Row extends { version: string | bigint }>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): Map<string, Row> {
  const newest = new Map<string, Row>();
  for (const row of rows) {
    const key = keyOf(row);
    const known = newest.get(key);
    if (known === undefined || BigInt(row.version) > BigInt(known.version)) newest.set(key, row);
  }
  return newest;
}
