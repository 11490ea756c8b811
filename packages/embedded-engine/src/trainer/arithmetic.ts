// Loops over large arrays, as top-level functions called per chunk: V8 sometimes leaves one long loop unoptimised.

const chunk = 16_384;

/** Adds `from` to `into`, element by element. */
export function addInto(into: Float32Array, from: Float32Array): void {
  for (let start = 0; start < into.length; start += chunk) {
    addChunk(into, from, start, Math.min(into.length, start + chunk));
  }
}

/** Returns the sum of squares in double precision, always summed in the same order. */
export function squaredNorm(values: Float32Array): number {
  let sum = 0;
  for (let start = 0; start < values.length; start += chunk) {
    sum += squaresOfChunk(values, start, Math.min(values.length, start + chunk));
  }
  return sum;
}

function addChunk(into: Float32Array, from: Float32Array, start: number, end: number): void {
  for (let i = start; i < end; i++) into[i]! += from[i]!;
}

function squaresOfChunk(values: Float32Array, start: number, end: number): number {
  // Four accumulators avoid the latency of one dependent addition per element.
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let i = start;
  for (; i + 3 < end; i += 4) {
    a += values[i]! * values[i]!;
    b += values[i + 1]! * values[i + 1]!;
    c += values[i + 2]! * values[i + 2]!;
    d += values[i + 3]! * values[i + 3]!;
  }
  for (; i < end; i++) a += values[i]! * values[i]!;
  return a + b + (c + d);
}
