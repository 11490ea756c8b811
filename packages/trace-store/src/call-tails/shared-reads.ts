/** How long what was read is kept for readers who come a little later. */
const keptMs = 500;
/** What is kept takes about this much memory; more is read again. */
const mostKeptBytes = 16_000_000;

/** Reads that are the same for several readers, made once. */
export class SharedReads<T extends { bytes: number }> {
  readonly #known = new Map<string, Promise<T>>();
  #keptBytes = 0;

  /** `key` names all that the result depends on. */
  async read(key: string, read: () => Promise<T>): Promise<T> {
    const known = this.#known.get(key);
    if (known !== undefined) return await known;
    const running = read();
    this.#known.set(key, running);
    try {
      const { bytes } = await running;
      this.#keep(key, bytes);
    } catch (error) {
      this.#known.delete(key);
      throw error;
    }
    return await running;
  }

  #keep(key: string, bytes: number): void {
    if (this.#keptBytes + bytes > mostKeptBytes) {
      this.#known.delete(key);
      return;
    }
    this.#keptBytes += bytes;
    setTimeout(() => {
      this.#keptBytes -= bytes;
      this.#known.delete(key);
    }, keptMs).unref();
  }
}
