import { forEachConcurrently } from "./for-each-concurrently.js";

/** Returns what `work` returns for each item, in order; limit and errors are those of `forEachConcurrently`. */
export async function mapConcurrently<Item, Result>(
  items: Iterable<Item>,
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  await forEachConcurrently(items, limit, async (item, index) => {
    results[index] = await work(item, index);
  });
  return results;
}
