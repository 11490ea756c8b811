/** Element types of stored weights. All are read as f32. Typed arrays must be little-endian, like the format. */
export type WeightFormat = "F32" | "F16" | "BF16";

export const weightFormats: Record<WeightFormat, { bytes: number }> = {
  F32: { bytes: 4 },
  F16: { bytes: 2 },
  BF16: { bytes: 2 },
};

let halves: Float32Array | undefined;

/** Converts IEEE binary16 numbers to f32 exactly. */
export function widenF16(source: Uint16Array, into: Float32Array): void {
  halves ??= halfTable();
  for (let at = 0; at < source.length; at++) into[at] = halves[source[at]!]!;
}

/** Converts bfloat16 numbers, the upper 16 bits of f32 numbers, to f32 exactly. */
export function widenBF16(source: Uint16Array, into: Float32Array): void {
  const bits = new Uint32Array(into.buffer, into.byteOffset, source.length);
  for (let at = 0; at < source.length; at++) bits[at] = source[at]! << 16;
}

/** Rounds f32 to bfloat16, to nearest, ties to even; NaN stays NaN, and a number out of range becomes infinite. */
export function narrowBF16(source: Float32Array, into: Uint16Array): void {
  const bits = new Uint32Array(source.buffer, source.byteOffset, source.length);
  for (let at = 0; at < source.length; at++) {
    const word = bits[at]!;
    const isNaN = (word & 0x7fffffff) > 0x7f800000;
    into[at] = isNaN ? (word >>> 16) | 0x40 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
}

function halfTable(): Float32Array {
  const table = new Float32Array(0x10000);
  for (let half = 0; half < 0x10000; half++) {
    const sign = half & 0x8000 ? -1 : 1;
    const exponent = (half >>> 10) & 0x1f;
    const fraction = half & 0x3ff;
    if (exponent === 0x1f) table[half] = fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
    else if (exponent === 0) table[half] = sign * fraction * 2 ** -24;
    else table[half] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }
  return table;
}
