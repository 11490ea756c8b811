/** The name that is most likely meant by a misspelt one; undefined when none is similar. */
export function closestName(given: string, names: readonly string[]): string | undefined {
  // Nobody misspells so much, and the distance takes time in proportion to the length.
  const text = given.slice(0, 100).toLowerCase();
  const [nearest] = names
    .map((name) => ({ name, edits: distance(text, name.toLowerCase()) }))
    .toSorted((a, b) => a.edits - b.edits);
  return nearest !== undefined && nearest.edits <= Math.max(1, nearest.name.length / 3) ? nearest.name : undefined;
}

/** Insertions, deletions, replacements and swaps of neighbours that make one text of the other (Damerau, Levenshtein). */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const edits = (row: number, column: number) => rows[row]?.[column] ?? Infinity;
  for (let row = 1; row <= a.length; row++) {
    rows.push([row]);
    for (let column = 1; column <= b.length; column++) {
      const isSwap = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      rows[row]?.push(
        Math.min(
          edits(row - 1, column) + 1,
          edits(row, column - 1) + 1,
          edits(row - 1, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1),
          isSwap ? edits(row - 2, column - 2) + 1 : Infinity,
        ),
      );
    }
  }
  return edits(a.length, b.length);
}
