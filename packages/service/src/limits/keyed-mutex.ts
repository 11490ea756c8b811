/** A mutex for each key, acquired in order of arrival. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** Resolves when the mutex of the key is free, with the function that releases it. Releasing twice does nothing. */
  async acquire(key: string): Promise<() => void> {
    const before = this.#last.get(key);
    let end = () => {};
    const held = new Promise<void>((resolve) => (end = resolve));
    this.#last.set(key, held);
    await before;
    return () => {
      end();
      if (this.#last.get(key) === held) this.#last.delete(key);
    };
  }
}
