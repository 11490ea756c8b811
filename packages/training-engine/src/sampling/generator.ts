/** Uniform numbers in [0, 1), one per call. */
export type Generator = () => number;

/**
 * xoshiro128++ (Blackman and Vigna), its four words filled by splitmix32 from `seed` (unsigned 32 bit), two outputs per
 * number for 53 bits. Seeds next to each other give unrelated streams, so completion i of n can draw with `seed + i`.
 */
export function createGenerator(seed: number): Generator {
  let state = seed | 0;
  const word = () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return mixed ^ (mixed >>> 15);
  };
  let [a, b, c, d] = [word(), word(), word(), word()];
  const next = () => {
    const sum = (a + d) | 0;
    const result = (((sum << 7) | (sum >>> 25)) + a) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = (d << 11) | (d >>> 21);
    return result;
  };
  return () => (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53;
}
