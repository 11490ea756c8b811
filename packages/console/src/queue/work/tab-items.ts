import { holdLock } from "../../data/browser-lock.js";
import type { Release } from "../../data/browser-lock.js";

/**
 * Which tab of a browser works on which item. To the service two tabs are one annotator, who gets an item that is theirs again;
 * without this both would have it.
 */
export interface TabItems {
  /** Items that other tabs work on. */
  elsewhere(): Promise<string[]>;
  /** Makes the item that of this tab, unless another has it; `patiently` where that may be this page before it was reloaded. */
  take(id: string, patiently?: boolean): Promise<boolean>;
  release(id: string): void;
  /** The tab works on nothing any more. */
  leave(): void;
}

/** Where there is no other tab, or nothing is known of them: locks need a secure page. */
export const onlyTab: TabItems = {
  elsewhere: async () => [],
  take: async () => true,
  release: () => undefined,
  leave: () => undefined,
};

/** How long a page that was just left may keep its locks. */
const patienceMs = 2000;

export function tabItems(queueId: string, locks: LockManager | undefined = navigator.locks): TabItems {
  if (locks === undefined) return onlyTab;
  const prefix = `heddle queue ${queueId} `;
  const held = new Map<string, Release>();
  return {
    async elsewhere() {
      const { held: all = [] } = await locks.query();
      return all
        .flatMap(({ name = "" }) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []))
        .filter((id) => !held.has(id));
    },
    async take(id, patiently = false) {
      if (held.has(id)) return true;
      const options = patiently ? { signal: AbortSignal.timeout(patienceMs) } : { ifAvailable: true };
      const release = await holdLock(locks, prefix + id, options);
      if (release !== undefined) held.set(id, release);
      return release !== undefined;
    },
    release(id) {
      held.get(id)?.();
      held.delete(id);
    },
    leave() {
      for (const release of held.values()) release();
      held.clear();
    },
  };
}
