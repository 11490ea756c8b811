/** Whether every number of a tensor is one; a loop, because `every` calls back for each of millions. */
export function allFinite(values: Float32Array): boolean {
  for (let at = 0; at < values.length; at++) if (!Number.isFinite(values[at])) return false;
  return true;
}
