/** Returns whether all elements are finite. A loop is faster than a callback for each of millions of elements. */
export function allFinite(values: Float32Array): boolean {
  for (let at = 0; at < values.length; at++) if (!Number.isFinite(values[at])) return false;
  return true;
}
