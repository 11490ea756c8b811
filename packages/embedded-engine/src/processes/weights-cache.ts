import { HeddleError } from "@heddle/errors";

/** Loads and drops the weights of one name. */
export interface WeightsSource {
  /** Bytes that the weights will take, known before they are read. */
  size(): Promise<number>;
  /** Weights that must stay loaded as long as these: the base model of an adapter. */
  base?: { name: string; source: WeightsSource };
  /** Loads the weights under a new id; `baseId` is the id of `base`. */
  load(id: string, baseId: string | undefined): Promise<void>;
  /** Drops the weights. Resolves when no request uses them. */
  drop(id: string): Promise<void>;
}

export interface CacheLease {
  id: string;
  release(): void;
}

interface Entry {
  name: string;
  id: string;
  bytes: number;
  uses: number;
  lastUse: number;
  base: CacheLease | undefined;
  source: WeightsSource;
  loaded: Promise<void>;
  invalidated: boolean;
}

/**
 * Cache of loaded weights within `budgetBytes`. Weights are loaded at first use and evicted, least recently used first,
 * when others need the memory. Weights in use stay loaded, also if they are invalidated.
 */
export function weightsCache(budgetBytes: number): {
  /**
   * Returns a lease, loading the weights if necessary. Rejects with `too_large` if they alone exceed the budget, and
   * with `busy` if weights in use leave too little of it.
   */
  acquire(name: string, source: WeightsSource): Promise<CacheLease>;
  /** Returns a lease on weights that are loaded or loading; undefined otherwise. */
  acquireCached(name: string): Promise<CacheLease> | undefined;
  /** Makes later calls of `acquire` read the weights again. */
  invalidate(name: string): Promise<void>;
} {
  const entries = new Map<string, Entry>();
  let usedBytes = 0;
  let clock = 0;
  /** Reservations run one at a time. */
  let lastReservation: Promise<unknown> = Promise.resolve();

  function acquire(name: string, source: WeightsSource): Promise<CacheLease> {
    return lease(entries.get(name) ?? createEntry(name, source));
  }

  async function lease(entry: Entry): Promise<CacheLease> {
    entry.uses++;
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      entry.uses--;
      entry.lastUse = ++clock;
      if (entry.invalidated && entry.uses === 0) void drop(entry);
    };
    try {
      await entry.loaded;
    } catch (error) {
      release();
      throw error;
    }
    return { id: entry.id, release };
  }

  function createEntry(name: string, source: WeightsSource): Entry {
    const id = `${name}#${++clock}`;
    const entry: Entry = {
      name,
      id,
      source,
      bytes: 0,
      uses: 0,
      lastUse: clock,
      base: undefined,
      loaded: Promise.resolve(),
      invalidated: false,
    };
    entries.set(name, entry);
    entry.loaded = loadEntry(entry);
    entry.loaded.catch(() => removeEntry(entry));
    return entry;
  }

  async function loadEntry(entry: Entry): Promise<void> {
    const { source } = entry;
    if (source.base) entry.base = await acquire(source.base.name, source.base.source);
    try {
      const bytes = await source.size();
      const reservation = lastReservation.then(() => reserveBytes(entry, bytes));
      lastReservation = reservation.catch(() => undefined);
      await reservation;
      await source.load(entry.id, entry.base?.id);
    } catch (error) {
      usedBytes -= entry.bytes;
      entry.bytes = 0;
      entry.base?.release();
      entry.base = undefined;
      throw error;
    }
  }

  async function reserveBytes(entry: Entry, bytes: number): Promise<void> {
    if (bytes > budgetBytes) {
      throw new HeddleError(
        "too_large",
        `the weights need ${bytes} bytes; the limit for loaded weights is ${budgetBytes}`,
      );
    }
    while (usedBytes + bytes > budgetBytes) {
      const idle = [...entries.values()].filter(({ uses, bytes }) => uses === 0 && bytes > 0);
      const oldest = idle.toSorted((a, b) => a.lastUse - b.lastUse)[0];
      if (!oldest) {
        throw new HeddleError(
          "busy",
          `the weights need ${bytes} bytes; ${budgetBytes - usedBytes} of ${budgetBytes} are not in use`,
        );
      }
      await drop(oldest);
    }
    usedBytes += bytes;
    entry.bytes = bytes;
  }

  function removeEntry(entry: Entry): void {
    entry.invalidated = true;
    if (entries.get(entry.name) === entry) entries.delete(entry.name);
  }

  async function drop(entry: Entry): Promise<void> {
    removeEntry(entry);
    const { bytes } = entry;
    if (bytes === 0) return;
    entry.bytes = 0;
    await entry.source.drop(entry.id);
    usedBytes -= bytes;
    entry.base?.release();
  }

  return {
    acquire,
    acquireCached(name) {
      const entry = entries.get(name);
      return entry && lease(entry);
    },
    async invalidate(name) {
      const entry = entries.get(name);
      if (!entry) return;
      removeEntry(entry);
      if (entry.uses === 0) await drop(entry);
    },
  };
}
