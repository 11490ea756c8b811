/** First and last code point, both included. */
export type CodePointRange = readonly [first: number, last: number];

const lastCodePoint = 0x10ffff;
const [firstSurrogate, lastSurrogate] = [0xd800, 0xdfff];
/** First code points that need one more byte in UTF-8. */
const lengthLimits = [0x80, 0x800, 0x10000, lastCodePoint + 1];

/** Sorts and merges ranges, and removes surrogates, which UTF-8 cannot encode. */
export function normalizeRanges(ranges: readonly CodePointRange[]): CodePointRange[] {
  const sorted = ranges.flatMap(withoutSurrogates).toSorted((one, other) => one[0] - other[0]);
  const merged: [number, number][] = [];
  for (const [first, last] of sorted) {
    const previous = merged.at(-1);
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else merged.push([first, last]);
  }
  return merged;
}

/** Returns the ranges of all other code points. */
export function complementRanges(ranges: readonly CodePointRange[]): CodePointRange[] {
  const rest: CodePointRange[] = [];
  let next = 0;
  for (const [first, last] of normalizeRanges(ranges)) {
    if (first > next) rest.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= lastCodePoint) rest.push([next, lastCodePoint]);
  return normalizeRanges(rest);
}

function withoutSurrogates([first, last]: CodePointRange): CodePointRange[] {
  const parts: CodePointRange[] = [
    [first, Math.min(last, firstSurrogate - 1)],
    [Math.max(first, lastSurrogate + 1), last],
  ];
  return parts.filter(([from, to]) => from <= to);
}

/** A range of bytes at one position. */
export type ByteRange = readonly [first: number, last: number];

/** Returns the UTF-8 encodings of the ranges as sequences of independent byte ranges. */
export function byteSequences(ranges: readonly CodePointRange[]): ByteRange[][] {
  return normalizeRanges(ranges).flatMap(([first, last]) => {
    const sequences: ByteRange[][] = [];
    let start = 0;
    for (const limit of lengthLimits) {
      const [from, to] = [Math.max(first, start), Math.min(last, limit - 1)];
      if (from <= to) sequences.push(...sameLength(encoded(from), encoded(to)));
      start = limit;
    }
    return sequences;
  });
}

function encoded(codePoint: number): number[] {
  return [...Buffer.from(String.fromCodePoint(codePoint))];
}

/** Returns sequences between two byte strings of equal length whose continuation bytes are 0x80 to 0xbf. */
function sameLength(from: readonly number[], to: readonly number[]): ByteRange[][] {
  const [low = 0, ...lowRest] = from;
  const [high = 0, ...highRest] = to;
  if (lowRest.length === 0) return [[[low, high]]];
  const prefixed = (byte: number, rest: ByteRange[][]) => rest.map((each): ByteRange[] => [[byte, byte], ...each]);
  if (low === high) return prefixed(low, sameLength(lowRest, highRest));
  const lowest = lowRest.every((byte) => byte === 0x80);
  const highest = highRest.every((byte) => byte === 0xbf);
  const sequences: ByteRange[][] = [];
  if (!lowest)
    sequences.push(
      ...prefixed(
        low,
        sameLength(
          lowRest,
          lowRest.map(() => 0xbf),
        ),
      ),
    );
  const [first, last] = [lowest ? low : low + 1, highest ? high : high - 1];
  if (first <= last) sequences.push([[first, last], ...lowRest.map((): ByteRange => [0x80, 0xbf])]);
  if (!highest)
    sequences.push(
      ...prefixed(
        high,
        sameLength(
          highRest.map(() => 0x80),
          highRest,
        ),
      ),
    );
  return sequences;
}
