/** Returns the next uniform number in [0, 1). */
export type Generator = () => number;

/**
 * Creates an xoshiro128++ generator (Blackman and Vigna), whose state is filled by splitmix32 from `seed` (unsigned 32
 * bit). Two outputs make one number of 53 bits. Adjacent seeds give unrelated streams, so completion i of n can use
 * `seed + i`.
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
