import { distance } from "fastest-levenshtein";

/** The name that is most likely meant by a misspelt one; undefined when none is similar. */
export function closestName(given: string, names: readonly string[]): string | undefined {
  const [nearest] = names
    .map((name) => ({ name, edits: distance(given.toLowerCase(), name.toLowerCase()) }))
    .toSorted((a, b) => a.edits - b.edits);
  return nearest !== undefined && nearest.edits <= Math.max(1, nearest.name.length / 3) ? nearest.name : undefined;
}
