import type { TokenLogprob } from "@heddle/training";

/**
 * Reads the model's distribution over the vocabulary before any control of the request, from which log-probabilities,
 * ranks and alternatives are taken. `offset` is the start of the row in `logits`, `size` the number of tokens.
 */
export interface RawDistribution {
  logprob(token: number): number;
  /** Returns 1 + the number of more likely tokens. */
  rank(token: number): number;
  /** Returns the `count` most likely tokens, most likely first, equal ones by ascending id. -1 means all. */
  best(count: number): TokenLogprob[];
}

export function rawDistribution(logits: Float32Array, offset: number, size: number): RawDistribution {
  const row = logits.subarray(offset, offset + size);
  const logSum = logSumExp(row);
  return {
    logprob: (token) => (row[token] ?? -Infinity) - logSum,
    rank: (token) => rankOf(row, token),
    best(count) {
      let rank = 0;
      return topIndices(row, count < 0 ? size : Math.min(count, size)).map((token, index, all) => {
        const previous = all[index - 1];
        if (previous === undefined || row[previous] !== row[token]) rank = index + 1;
        return { token, logprob: (row[token] ?? 0) - logSum, rank };
      });
    },
  };
}

/** Returns log(sum(exp(x))) in double precision; NaN if a logit is NaN. */
function logSumExp(row: Float32Array): number {
  let maximum = -Infinity;
  for (let i = 0; i < row.length; i++) if (row[i]! > maximum) maximum = row[i]!;
  let sum = 0;
  for (let i = 0; i < row.length; i++) sum += Math.exp(row[i]! - maximum);
  return maximum + Math.log(sum);
}

function rankOf(row: Float32Array, token: number): number {
  const value = row[token] ?? NaN;
  let rank = 1;
  for (let i = 0; i < row.length; i++) if (row[i]! > value) rank++;
  return rank;
}

/** Returns the ids of the `count` largest entries, largest first. */
export function topIndices(row: Float32Array | Float64Array, count: number): number[] {
  if (count > 64) {
    const ids = Array.from(row, (_, token) => token);
    return ids.toSorted((a, b) => row[b]! - row[a]! || a - b).slice(0, count);
  }
  const ids: number[] = [];
  let minimum = -Infinity;
  for (let token = 0; token < row.length; token++) {
    const value = row[token]!;
    if (ids.length === count && !(value > minimum)) continue;
    let at = ids.length;
    while (at > 0 && row[ids[at - 1]!]! < value) at--;
    ids.splice(at, 0, token);
    if (ids.length > count) ids.pop();
    minimum = row[ids.at(-1)!] ?? -Infinity;
  }
  return ids;
}
