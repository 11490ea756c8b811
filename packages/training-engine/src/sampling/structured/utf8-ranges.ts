/** First and last code point, both included. */
export type CodePointRange = readonly [first: number, last: number];

const lastCodePoint = 0x10ffff;
const [firstSurrogate, lastSurrogate] = [0xd800, 0xdfff];
/** Code points below the next limit take one byte more. */
const lengthLimits = [0x80, 0x800, 0x10000, lastCodePoint + 1];

/** Sorted, without overlaps, without surrogates (which UTF-8 cannot carry). */
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

/** All other code points. */
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

/** Bytes that may stand at one place. */
export type ByteRange = readonly [first: number, last: number];

/** The UTF-8 forms of all code points of the ranges: each a sequence of byte ranges that vary independently of each other. */
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

/** Between two byte strings of equal length whose later bytes run from 0x80 to 0xbf. */
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
