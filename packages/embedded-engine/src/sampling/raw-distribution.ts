import type { SampledToken, TokenLogprob } from "@heddle/training";
import type { LogprobColumns } from "./sampled-token.js";
import { ColumnToken, listOf, maxListed } from "./sampled-token.js";

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
  /** Returns a function that gives tokens the `count` most likely ones as their alternatives. */
  withAlternatives(count: number): (token: number) => SampledToken;
}

export function rawDistribution(logits: Float32Array, offset: number, size: number): RawDistribution {
  const row = logits.subarray(offset, offset + size);
  const logSum = logSumExp(row);
  const logprob = (token: number) => (row[token] ?? -Infinity) - logSum;
  const columns = (count: number): LogprobColumns => {
    const tokens = Int32Array.from(topIndices(row, count));
    const ranks = new Int32Array(tokens.length);
    tokens.forEach((token, index) => {
      const isEqual = index > 0 && row[tokens[index - 1]!] === row[token];
      ranks[index] = isEqual ? ranks[index - 1]! : index + 1;
    });
    return { tokens, logprobs: Float64Array.from(tokens, logprob), ranks };
  };
  const limited = (count: number) => (count < 0 ? size : Math.min(count, size));
  return {
    logprob,
    rank: (token) => rankOf(row, token),
    best: (count) => listOf(columns(limited(count))),
    withAlternatives(count) {
      if (limited(count) > maxListed) {
        const found = columns(limited(count));
        return (token) => new ColumnToken({ token, logprob: logprob(token), columns: found });
      }
      const alternatives = count === 0 ? [] : listOf(columns(limited(count)));
      return (token) => ({ token, logprob: logprob(token), alternatives });
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
export function topIndices(row: Float32Array, count: number): ArrayLike<number> & Iterable<number> {
  if (count > maxListed) return sortedIndices(row).subarray(0, count);
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

/**
 * Returns the ids of all entries, largest first, equal ones by id. Sorts numbers that have the order of an entry in front of
 * its id: without a function that compares, which takes ten times as long for a large vocabulary.
 */
function sortedIndices(row: Float32Array): Int32Array {
  // Zero has one sign.
  const bits = new Uint32Array(row.map((value) => value + 0).buffer);
  const keys = Float64Array.from(bits, (each, id) => {
    const descending = each >>> 31 ? each : ~each & 0x7fff_ffff;
    return descending * idRange + id;
  });
  return Int32Array.from(keys.toSorted(), (key) => key % idRange);
}

/** More than any vocabulary has; together with 32 bits of a number it is exact. */
const idRange = 2 ** 21;
