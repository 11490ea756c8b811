/** Returns a function that runs tasks one after another, in the order of its calls. A failure rejects its own call only. */
export function mutex(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return async (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return await result;
  };
}
