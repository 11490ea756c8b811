import type { SqlValue } from "./database.js";

/** Collects the parameters of a statement while its text is put together. */
export class Parameters {
  readonly values: SqlValue[] = [];

  /** Returns the name of the value in the statement. */
  bind(value: SqlValue): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

/** Rows or ids of one statement: few sizes, so that there are few statements. */
const batchSizes = [100, 10, 1];

/** The items in groups of these sizes, in order. */
export function batches<Item>(items: readonly Item[]): Item[][] {
  const found: Item[][] = [];
  for (let from = 0; from < items.length;) {
    const left = items.length - from;
    const size = batchSizes.find((rows) => rows <= left) ?? 1;
    found.push(items.slice(from, from + size));
    from += size;
  }
  return found;
}
