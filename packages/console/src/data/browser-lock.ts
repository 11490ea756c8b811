/** How a lock is let go. */
export type Release = () => void;

/**
 * A lock that one page of a browser has at a time; undefined where another has it. The browser ends it with the page, however that
 * ends.
 */
export async function holdLock(locks: LockManager, name: string, options: LockOptions): Promise<Release | undefined> {
  return await new Promise((resolve) => {
    locks
      .request(name, options, async (lock) => {
        if (lock === null) return resolve(undefined);
        await new Promise<void>((release) => resolve(release));
      })
      .catch(() => resolve(undefined));
  });
}
