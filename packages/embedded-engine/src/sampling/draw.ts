/**
 * Draws a token by inverse transform sampling in the order of token ids: returns the first token at which the sum of
 * `weights` from `offset` exceeds `uniform` times `sum`. Returns -1 if no weight is positive or one is NaN.
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
  // The sum fell short because of rounding: return the last token with a positive weight.
  for (let i = end - 1; i >= offset; i--) if (weights[i]! > 0) return i - offset;
  return -1;
}

/**
 * Returns the id of the largest weight, the lowest of equal ones. Returns -1 if one is NaN or none is above -Infinity.
 */
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
