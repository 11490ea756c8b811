/** The name that is most likely meant by a misspelt one; undefined when none is similar. */
export function closestName(given: string, names: readonly string[]): string | undefined {
  // Nobody misspells so much, and the distance takes time in proportion to the length.
  const text = given.slice(0, 100).toLowerCase();
  const [nearest] = names
    .map((name) => ({ name, edits: distance(text, name.toLowerCase()) }))
    .toSorted((a, b) => a.edits - b.edits);
  return nearest !== undefined && nearest.edits <= Math.max(1, nearest.name.length / 3) ? nearest.name : undefined;
}

/** Levenshtein's distance: insertions, deletions and replacements that make one text of the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [index, character] of [...a].entries()) {
    const next = [index + 1];
    for (let column = 0; column < b.length; column++) {
      const replaced = (row[column] ?? 0) + (b[column] === character ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
