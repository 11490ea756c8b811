/** Wakes those who wait for a change. */
export class ChangeSignal {
  readonly #waiting = new Set<() => void>();

  /** Resolves at the next change, or after `ms`. */
  async wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#waiting.add(end);
    });
  }

  changed(): void {
    for (const end of this.#waiting) end();
  }
}
