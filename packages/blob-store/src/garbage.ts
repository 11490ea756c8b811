import type { BlobStore } from "./port.js";

export interface GarbageOptions {
  /**
   * Microseconds since 1970: only what was last put before is touched. It must be longer ago than the longest time
   * between a put and the row that names it, at least an hour.
   */
  putBefore: bigint;
  /** Those of the keys that are in use. Asked about 1,000 at a time, after they were listed. */
  named: (keys: readonly string[]) => Promise<ReadonlySet<string>>;
}

/**
 * Deletes the blobs that nothing refers to, and the drafts of broken uploads. Content that is put again meanwhile stays, by
 * whichever process.
 */
export async function collectGarbage(
  store: BlobStore,
  { putBefore, named }: GarbageOptions,
): Promise<{ deleted: number; bytes: number }> {
  const collected = { deleted: 0, bytes: 0 };
  let old: { key: string; size: number }[] = [];

  async function collect(): Promise<void> {
    const inUse = await named(old.map(({ key }) => key));
    for (const { key, size } of old) {
      if (inUse.has(key) || !(await store.delete(key, { putBefore }))) continue;
      collected.deleted += 1;
      collected.bytes += size;
    }
    old = [];
  }

  await store.discardDrafts(putBefore);
  for await (const { key, size, modifiedAt } of store.list()) {
    if (modifiedAt >= putBefore) continue;
    old.push({ key, size });
    if (old.length === 1000) await collect();
  }
  if (old.length > 0) await collect();
  return collected;
}
