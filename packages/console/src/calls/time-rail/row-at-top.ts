/** Which row is at the top of a table: what looks at it is rendered when it changes, and not the table. */
export class RowAtTop {
  readonly #listeners = new Set<() => void>();
  #row = 0;

  readonly row = (): number => this.#row;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly set = (row: number): void => {
    if (row === this.#row) return;
    this.#row = row;
    for (const listener of this.#listeners) listener();
  };
}
