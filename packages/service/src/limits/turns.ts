/** Does one piece of work after the other for each key, in order of arrival. Keys do not wait for each other. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Resolves when it is the turn of this one; the next one of the key waits until the returned function is called. */
  async take(key: string): Promise<() => void> {
    const before = this.#last.get(key);
    let end = () => {};
    const turn = new Promise<void>((resolve) => (end = resolve));
    this.#last.set(key, turn);
    await before;
    return () => {
      end();
      if (this.#last.get(key) === turn) this.#last.delete(key);
    };
  }
}
