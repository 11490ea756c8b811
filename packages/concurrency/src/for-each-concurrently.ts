/**
 * Calls `work` for each item, `limit` at a time, and reads an item only when it is wanted. After an error no further item
 * is begun; it is thrown when all calls that were begun have ended.
 */
export async function forEachConcurrently<Item>(
  items: AsyncIterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.asyncIterator]();
  const state = { failed: false };
  const worker = async () => {
    try {
      while (!state.failed) {
        const next = await iterator.next();
        if (next.done === true) return;
        await work(next.value);
      }
    } catch (error) {
      state.failed = true;
      throw error;
    }
  };
  const results = await Promise.allSettled(Array.from({ length: limit }, worker));
  if (state.failed) await iterator.return?.();
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
