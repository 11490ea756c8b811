/** Items after which an estimate is more than a guess. */
const fewest = 3;
/** The pace of the last ones, so that a pause is forgotten. */
const window = 20;

/** How long the rest of a queue takes at the pace of one annotator, in milliseconds; undefined where nobody can tell. */
export function timeLeft(took: readonly number[], left: number): number | undefined {
  const recent = took.slice(-window).toSorted((a, b) => a - b);
  const middle = recent[Math.floor(recent.length / 2)];
  return took.length < fewest || left <= 0 || middle === undefined ? undefined : middle * left;
}
