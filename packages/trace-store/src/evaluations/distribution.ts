/** In which range the values of several runs lie, and how many of each are in each part of it. */
export interface RunDistributions {
  /** One more than there are bins; empty where there are no values. */
  edges: number[];
  /** By run; each bin includes its lower edge, the last both. */
  counts: number[][];
}

/** Counts values in bins that all runs share; NaN is not a value. Booleans, as 1 and 0, have two bins. */
export function distributionOf(runs: ReadonlyArray<readonly number[]>, bins: number | "booleans"): RunDistributions {
  const edges = bins === "booleans" ? booleanEdges(runs) : evenEdges(runs, bins);
  const counts = runs.map((values) => {
    const counted = edges.slice(1).map(() => 0);
    for (const value of values) {
      if (Number.isNaN(value)) continue;
      const bin = binOf(value, edges);
      counted[bin] = (counted[bin] ?? 0) + 1;
    }
    return counted;
  });
  return { edges, counts };
}

const booleanEdges = (runs: ReadonlyArray<readonly number[]>) =>
  runs.some((values) => values.some((value) => !Number.isNaN(value))) ? [0, 0.5, 1] : [];

function evenEdges(runs: ReadonlyArray<readonly number[]>, bins: number): number[] {
  let [low, high] = [Infinity, -Infinity];
  for (const values of runs) {
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high) return [];
  if (low === high) return [low, high];
  return Array.from({ length: bins + 1 }, (_, index) => (index === bins ? high : low + ((high - low) * index) / bins));
}

/** The last bin whose lower edge is not above the value. */
function binOf(value: number, edges: readonly number[]): number {
  let [from, to] = [0, Math.max(0, edges.length - 2)];
  while (from < to) {
    const middle = Math.ceil((from + to) / 2);
    if ((edges[middle] ?? Infinity) <= value) from = middle;
    else to = middle - 1;
  }
  return from;
}
