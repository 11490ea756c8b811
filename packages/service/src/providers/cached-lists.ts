import { LRUCache } from "lru-cache";

/** Milliseconds. */
export interface CacheTimes {
  /** For how long a list is not read again. */
  freshMs: number;
  /** For how long it is returned while it cannot be read again. */
  staleMs: number;
  /** How long after a failure the next attempt is made. */
  retryMs: number;
}

const usualTimes: CacheTimes = { freshMs: 300_000, staleMs: 86_400_000, retryMs: 30_000 };
const maxEntries = 1000;

interface Entry<Item> {
  list?: { items: Item[]; readAt: number };
  failure?: { error: unknown; at: number };
  reading?: Promise<Item[]>;
}

/** Lists by key that take long to read. */
export class CachedLists<Item> {
  readonly #times: CacheTimes;
  readonly #entries = new LRUCache<string, Entry<Item>>({ max: maxEntries });

  constructor(times: CacheTimes = usualTimes) {
    this.#times = times;
  }

  /**
   * Returns the list of a key. Calls that come while it is read share the reading. Rejects with the error of the reading
   * when there is no older list.
   */
  async get(key: string, read: () => Promise<Item[]>): Promise<Item[]> {
    const { freshMs, retryMs } = this.#times;
    const entry = this.#entry(key);
    const now = performance.now();
    if (entry.list !== undefined && now - entry.list.readAt < freshMs) return entry.list.items;
    if (entry.failure !== undefined && now - entry.failure.at < retryMs) return this.#older(entry, entry.failure.error);
    entry.reading ??= this.#read(entry, read).finally(() => delete entry.reading);
    return entry.reading;
  }

  /** Returns the list of a key that was read before and may still be shown; undefined without one. Reads nothing. */
  remembered(key: string): Item[] | undefined {
    const list = this.#entries.get(key)?.list;
    return list !== undefined && this.#isShown(list) ? list.items : undefined;
  }

  #entry(key: string): Entry<Item> {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = {};
      this.#entries.set(key, entry);
    }
    return entry;
  }

  async #read(entry: Entry<Item>, read: () => Promise<Item[]>): Promise<Item[]> {
    try {
      const items = await read();
      entry.list = { items, readAt: performance.now() };
      delete entry.failure;
      return items;
    } catch (error) {
      entry.failure = { error, at: performance.now() };
      return this.#older(entry, error);
    }
  }

  #older({ list }: Entry<Item>, error: unknown): Item[] {
    if (list !== undefined && this.#isShown(list)) return list.items;
    throw error;
  }

  #isShown({ readAt }: { readAt: number }): boolean {
    return performance.now() - readAt < this.#times.staleMs;
  }
}
