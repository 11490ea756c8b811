/** The length of the longest common subsequence of two lists; `same` compares an index of each. */
export function commonSubsequence(
  length: number,
  otherLength: number,
  same: (i: number, j: number) => boolean,
): number {
  let previous = new Uint32Array(otherLength + 1);
  let current = new Uint32Array(otherLength + 1);
  for (let i = 0; i < length; i++) {
    for (let j = 0; j < otherLength; j++) {
      current[j + 1] = same(i, j) ? (previous[j] ?? 0) + 1 : Math.max(previous[j + 1] ?? 0, current[j] ?? 0);
    }
    [previous, current] = [current, previous];
  }
  return previous[otherLength] ?? 0;
}
