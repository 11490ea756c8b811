import { HeddleError } from "./heddle-error.js";

/** So many are worth reading at once. */
const most = 10;

/**
 * Gathers what is wrong with several arguments, so that a caller learns of all of it at once.
 *
 * ```ts
 * const mistakes = new Mistakes();
 * const sort = mistakes.attempt(() => parseSort(request.sort_by));
 * const query = mistakes.attempt(() => parseQuery(request.query));
 * mistakes.throwAll();
 * ```
 */
export class Mistakes {
  readonly #errors: HeddleError[] = [];

  /** Returns what the function returns; undefined where it throws a `HeddleError`, which is kept. */
  attempt<T>(run: () => T): T | undefined {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      this.#errors.push(...error.all);
      return undefined;
    }
  }

  /** What the function returns for each item for which it does not throw. */
  attemptEach<Item, T>(items: readonly Item[], run: (item: Item, index: number) => T): T[] {
    return items.flatMap((item, index) => {
      if (this.#errors.length >= most) return [];
      const found = this.attempt(() => ({ value: run(item, index) }));
      return found === undefined ? [] : [found.value];
    });
  }

  /** Throws the first mistake with the others; returns where there is none. */
  throwAll(): void {
    const [first, ...others] = this.#errors.slice(0, most);
    if (first !== undefined) throw others.length === 0 ? first : first.with({ others });
  }
}
