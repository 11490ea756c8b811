/**
 * Draws by the inverse of the cumulative distribution, in the order of token ids: the first token at which the sum of
 * `weights` from `offset` on exceeds `uniform` times `sum`. -1 when no weight is positive or one is not a number.
 */
export function drawToken(
  weights: Float32Array | Float64Array,
  { offset = 0, size, sum, uniform }: { offset?: number; size: number; sum: number; uniform: number },
): number {
  const target = uniform * sum;
  let reached = 0;
  const end = offset + size;
  for (let i = offset; i < end; i++) {
    reached += weights[i]!;
    if (reached > target) return i - offset;
  }
  if (Number.isNaN(reached)) return -1;
  // Rounding left the sum a little short of what it should be: the last token that can be drawn.
  for (let i = end - 1; i >= offset; i--) if (weights[i]! > 0) return i - offset;
  return -1;
}

/** The largest weight, of equal ones the lowest id; -1 when one is not a number or none is above -Infinity. */
export function largestToken(
  weights: Float32Array | Float64Array,
  { offset = 0, size }: { offset?: number; size: number },
): number {
  let best = -1;
  let most = -Infinity;
  for (let i = 0; i < size; i++) {
    const weight = weights[offset + i]!;
    if (weight > most) {
      most = weight;
      best = i;
    } else if (Number.isNaN(weight)) return -1;
  }
  return best;
}
