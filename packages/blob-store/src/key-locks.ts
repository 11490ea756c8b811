/**
 * Runs the operations on one key one after another within this process, so that a collector never deletes a blob that
 * is put again after the collector has found it old.
 */
export function keyLocks(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const result = (last.get(key) ?? Promise.resolve()).then(work);
    const finished = result.catch(() => undefined);
    last.set(key, finished);
    try {
      return await result;
    } finally {
      if (last.get(key) === finished) last.delete(key);
    }
  };
}
