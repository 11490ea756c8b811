/** Truncation of the distribution before sampling. */
export interface Truncation {
  temperature: number;
  /** 0: no limit. */
  topK: number;
  /** 1: no limit. */
  topP: number;
  /** 0: no limit. */
  minP: number;
}

/**
 * Converts logits in place to unnormalized probabilities: applies temperature, then min_p, top_k and top_p in this
 * order. Returns their sum, which is 0 or NaN if no token can be drawn.
 *
 * min_p keeps tokens at least `minP` times as likely as the most likely one, top_k the k most likely ones, and top_p
 * the smallest set whose share reaches `topP`. Of equally likely tokens, those with lower ids are kept.
 */
export function truncatedWeights(logits: Float64Array, { temperature, topK, topP, minP }: Truncation): number {
  let maximum = -Infinity;
  for (let i = 0; i < logits.length; i++) if (logits[i]! > maximum) maximum = logits[i]!;
  if (maximum === -Infinity) return 0;
  // The order of tokens is that of their logits, so that no others need a weight.
  const isLimited = topK > 0 && topK <= maxSelected && topK < logits.length;
  if (isLimited) removeAllBut(logits, topK);
  let sum = 0;
  for (let i = 0; i < logits.length; i++) {
    if (logits[i] === -Infinity) {
      logits[i] = 0;
      continue;
    }
    const weight = Math.exp((logits[i]! - maximum) / temperature);
    // The most likely token has weight 1, so min_p can be compared with the weights.
    logits[i] = weight < minP ? 0 : weight;
    sum += logits[i]!;
  }
  if (!isLimited && topK > 0 && topK < logits.length) sum = keepTopK(logits, topK);
  if (topP < 1) sum = keepTopP(logits, topP, sum);
  return sum;
}

/** Above so many tokens, sorting all takes less than finding the last one of them. */
const maxSelected = 1024;

/** Sets all but the `count` largest logits to -Infinity. */
function removeAllBut(logits: Float64Array, count: number): void {
  const largest = largestOf(logits, count);
  const [threshold = -Infinity] = largest;
  if (threshold === -Infinity) return;
  let ties = upperBound(largest, threshold);
  for (let i = 0; i < logits.length; i++) {
    const value = logits[i]!;
    if (value < threshold || (value === threshold && ties-- <= 0)) logits[i] = -Infinity;
  }
}

/** Returns the `count` largest numbers in ascending order, in one pass with those so far as a heap whose first is the smallest. */
function largestOf(values: Float64Array, count: number): Float64Array {
  const heap = new Float64Array(count).fill(-Infinity);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value <= heap[0]!) continue;
    let at = 0;
    for (let child = 1; child < count; child = 2 * at + 1) {
      if (child + 1 < count && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= value) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = value;
  }
  return heap.toSorted();
}

function keepTopK(weights: Float64Array, count: number): number {
  const sorted = weights.filter((weight) => weight > 0).toSorted();
  if (sorted.length <= count) return sorted.reduce((sum, weight) => sum + weight, 0);
  const threshold = sorted[sorted.length - count]!;
  const above = sorted.length - upperBound(sorted, threshold);
  return keepFrom(weights, threshold, count - above);
}

function keepTopP(weights: Float64Array, share: number, sum: number): number {
  const sorted = mostLikely(weights, share * sum) ?? sortedFrom(weights, ((1 - share) * sum) / weights.length);
  let kept = 0;
  let at = sorted.length;
  while (at > 0 && (kept < share * sum || at === sorted.length)) kept += sorted[--at]!;
  const threshold = sorted[at] ?? 0;
  const above = sorted.length - upperBound(sorted, threshold);
  return keepFrom(weights, threshold, sorted.length - at - above);
}

/** Returns the largest weights in ascending order, if few of them reach a sum. */
function mostLikely(weights: Float64Array, sum: number): Float64Array | undefined {
  const largest = largestOf(weights, Math.min(maxSelected, weights.length)).filter((weight) => weight > 0);
  return largest.reduce((total, weight) => total + weight, 0) >= sum ? largest : undefined;
}

/** The weights below the minimum are together within the share to remove, so that only the others need sorting. */
function sortedFrom(weights: Float64Array, minimum: number): Float64Array {
  return weights.filter((weight) => weight >= minimum && weight > 0).toSorted();
}

/** Keeps the tokens above `threshold`, and the first `ties` tokens equal to it. */
function keepFrom(weights: Float64Array, threshold: number, ties: number): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i]!;
    if (weight < threshold || (weight === threshold && ties-- <= 0)) weights[i] = 0;
    else sum += weight;
  }
  return sum;
}

/** Returns the number of entries of an ascending array that are at most `value`. */
function upperBound(sorted: Float64Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
