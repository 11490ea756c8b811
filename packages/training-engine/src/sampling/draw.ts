/**
 * Draws by the inverse of the cumulative distribution, in the order of token ids: the first token at which the sum of
 * `weights` from `offset` on exceeds `uniform` times `sum`. -1 when no weight is positive or one is not a number.
 */
export function drawToken(
  weights: Float32Array | Float64Array,
  { offset = 0, size, sum, uniform }: { offset?: number; size: number; sum: number; uniform: number },
): number {
  const target = uniform * sum;
  let cumulative = 0;
  const end = offset + size;
  for (let i = offset; i < end; i++) {
    cumulative += weights[i]!;
    if (cumulative > target) return i - offset;
  }
  if (Number.isNaN(cumulative)) return -1;
  // Rounding left the sum a little short of what it should be: the last token that can be drawn.
  for (let i = end - 1; i >= offset; i--) if (weights[i]! > 0) return i - offset;
  return -1;
}

/** The largest weight, of equal ones the lowest id; -1 when one is not a number or none is above -Infinity. */
export function argmax(
  weights: Float32Array | Float64Array,
  { offset = 0, size }: { offset?: number; size: number },
): number {
  let best = -1;
  let maximum = -Infinity;
  for (let i = 0; i < size; i++) {
    const weight = weights[offset + i]!;
    if (weight > maximum) {
      maximum = weight;
      best = i;
    } else if (Number.isNaN(weight)) return -1;
  }
  return best;
}
