/** Maximum number of queries whose attention scores exist at a time in a pass that takes little memory. */
export const maxBlockLength = 128;

/** Returns the length that a sequence is padded to in such a pass: blocks divide it exactly. */
export function blockwiseLength(time: number): number {
  return time <= maxBlockLength ? time : Math.ceil(time / maxBlockLength) * maxBlockLength;
}
