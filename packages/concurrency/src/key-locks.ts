/**
 * Returns a function that runs the tasks of one key one after another, in the order of its calls, within this process.
 * Tasks of other keys do not wait, and a failure rejects its own call only.
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
