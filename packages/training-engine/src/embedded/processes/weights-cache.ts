import { EngineError } from "../../engine-error.js";

/** How weights get into the sampler and out again; made for one name of weights at a time. */
export interface WeightsSource {
  /** Bytes they will take, known before they are read. */
  size(): Promise<number>;
  /** Weights that must be there as long as these are: the base of an adapter. */
  base?: { name: string; source: WeightsSource };
  /** `id` is new each time; `baseId` is that of `base`. */
  load(id: string, baseId: string | undefined): Promise<void>;
  /** Resolves when nothing runs on them any more. */
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
 * Loaded weights within `budgetBytes`: loaded at the first use, kept afterwards, and dropped, the least recently used first,
 * when others need their room. Weights in use stay, also when they are forgotten meanwhile.
 */
export function weightsCache(budgetBytes: number): {
  /** Rejects `too_large` when they alone exceed the budget, `busy` when those in use leave too little of it. */
  acquire(name: string, source: WeightsSource): Promise<CacheLease>;
  /** The same for weights that are there already or on their way. */
  acquireCached(name: string): Promise<CacheLease> | undefined;
  /** Whoever asks for the name from now on gets weights read anew. */
  invalidate(name: string): Promise<void>;
} {
  const entries = new Map<string, Entry>();
  let usedBytes = 0;
  let clock = 0;
  /** Room is made for one after the other. */
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
      throw new EngineError("too_large", `the weights need ${bytes} bytes, and loaded weights may take ${budgetBytes}`);
    }
    while (usedBytes + bytes > budgetBytes) {
      const idle = [...entries.values()].filter(({ uses, bytes }) => uses === 0 && bytes > 0);
      const oldest = idle.toSorted((a, b) => a.lastUse - b.lastUse)[0];
      if (!oldest) {
        throw new EngineError(
          "busy",
          `the weights need ${bytes} bytes, and those in use leave ${budgetBytes - usedBytes} of ${budgetBytes}`,
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
