/** Reads that are the same for several readers, made once. What they return is kept while they run. */
export class SharedReads {
  readonly #running = new Map<string, Promise<unknown>>();

  /** `key` names all that the result depends on. */
  async read<T>(key: string, read: () => Promise<T>): Promise<T> {
    const known = this.#running.get(key);
    if (known !== undefined) return (await known) as T;
    const running = read();
    this.#running.set(key, running);
    try {
      return await running;
    } finally {
      this.#running.delete(key);
    }
  }
}
