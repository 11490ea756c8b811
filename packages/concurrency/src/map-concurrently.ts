/**
 * Returns what `work` returns for each item, in order; `limit` items at a time are worked on. After an error no further item
 * is begun, and the error of the first item that has one is thrown when all that were begun have ended.
 */
export async function mapConcurrently<Item, Result>(
  items: Iterable<Item>,
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const errors: unknown[] = [];
  const entries = [...items].entries();
  const worker = async () => {
    for (const [index, item] of entries) {
      try {
        results[index] = await work(item, index);
      } catch (error) {
        errors[index] = error;
      }
      if (errors.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  if (errors.length > 0) throw errors[Number(Object.keys(errors)[0])];
  return results;
}
