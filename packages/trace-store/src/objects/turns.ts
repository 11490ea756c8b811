/** Runs work one after another, in the order in which it was asked for. A failure is its own caller's only. */
export function turns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return async (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return await result;
  };
}
