/** Creates shuffles that depend only on the seed (unsigned 32-bit integer) and the number of earlier calls. */
export function seededOrder(seed: number): { shuffled<T>(items: readonly T[]): T[] } {
  let state = seed >>> 0;
  return { shuffled };

  function shuffled<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, key: draw() }))
      .toSorted((left, right) => left.key - right.key)
      .map(({ item }) => item);
  }

  /** Returns the next number of splitmix32, an unsigned 32-bit integer. */
  function draw(): number {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }
}
