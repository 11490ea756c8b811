/**
 * Calls `work` for each item, `limit` at a time, and reads an item only when it is wanted. After an error no further item
 * is begun, and the error of the first item that has one is thrown when all calls that were begun have ended.
 */
export async function forEachConcurrently<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  limit: number,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  /** By the number of the item. */
  const errors: unknown[] = [];
  let wanted = 0;
  const worker = async () => {
    while (errors.length === 0) {
      const index = wanted++;
      try {
        const next = await iterator.next();
        if (next.done === true) return;
        await work(next.value, index);
      } catch (error) {
        errors[index] = error;
      }
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  if (errors.length === 0) return;
  await iterator.return?.();
  throw Object.values(errors)[0];
}
