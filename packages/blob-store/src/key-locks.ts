/**
 * Makes whatever concerns one key happen one after another within this process, so that a blob which is put again is
 * never taken by a collector that has just found it old.
 */
export function keyLocks(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const result = (last.get(key) ?? Promise.resolve()).then(work);
    const settled = result.catch(() => undefined);
    last.set(key, settled);
    try {
      return await result;
    } finally {
      if (last.get(key) === settled) last.delete(key);
    }
  };
}
