import { mutex } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { Sharer } from "./weights-turns.js";
import { WeightsTurns } from "./weights-turns.js";

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
  /** Who has leases: the sharers of requests, and the adapters on a base model. */
  users: Set<{ of: Sharer | Entry | undefined }>;
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
   * with `busy` if weights in use leave too little of it: for a sharer after it has waited for its turn.
   */
  acquire(name: string, source: WeightsSource, sharer?: Sharer): Promise<CacheLease>;
  /** Returns a lease on weights that are loaded or loading; undefined otherwise. */
  acquireCached(name: string, sharer?: Sharer): Promise<CacheLease | undefined>;
  /** Makes later calls of `acquire` read the weights again. */
  invalidate(name: string): Promise<void>;
} {
  const entries = new Map<string, Entry>();
  let usedBytes = 0;
  let clock = 0;
  /** Reservations run one at a time. */
  const reserve = mutex();

  const turns = new WeightsTurns({
    budgetBytes,
    usedBy: (share, name, alone) => {
      const used = [...entries.values()].filter((entry) => {
        const sharers = sharersOf(entry);
        const isOne = (sharer: Sharer | undefined) => sharer?.[share] === name;
        return sharers.some(isOne) && (!alone || sharers.every(isOne));
      });
      return used.reduce((sum, { bytes }) => sum + bytes, 0);
    },
    take: (bytes) => reserve(() => makeFree(bytes)),
    giveBack: (bytes) => (usedBytes -= bytes),
  });

  async function acquire(name: string, source: WeightsSource, sharer?: Sharer): Promise<CacheLease> {
    if (entries.has(name)) await turns.yield(sharer);
    return lease(entries.get(name) ?? createEntry(name, source, sharer), sharer);
  }

  async function acquireCached(name: string, sharer?: Sharer): Promise<CacheLease | undefined> {
    if (entries.has(name)) await turns.yield(sharer);
    const entry = entries.get(name);
    return entry && lease(entry, sharer);
  }

  async function lease(entry: Entry, of: Sharer | Entry | undefined): Promise<CacheLease> {
    const user = { of };
    entry.users.add(user);
    if (entry.bytes === 0) turns.changed();
    const release = (): void => {
      if (!entry.users.delete(user)) return;
      entry.lastUse = ++clock;
      if (entry.invalidated && entry.users.size === 0) void drop(entry);
      turns.changed();
    };
    try {
      await entry.loaded;
    } catch (error) {
      release();
      throw error;
    }
    return { id: entry.id, release };
  }

  function createEntry(name: string, source: WeightsSource, sharer: Sharer | undefined): Entry {
    const id = `${name}#${++clock}`;
    const entry: Entry = {
      name,
      id,
      source,
      bytes: 0,
      users: new Set(),
      lastUse: clock,
      base: undefined,
      loaded: Promise.resolve(),
      invalidated: false,
    };
    entries.set(name, entry);
    entry.loaded = loadEntry(entry, sharer);
    entry.loaded.catch(() => removeEntry(entry));
    return entry;
  }

  async function loadEntry(entry: Entry, sharer: Sharer | undefined): Promise<void> {
    const { base } = entry.source;
    if (base) {
      const loaded = entries.get(base.name) ?? createEntry(base.name, base.source, sharer);
      entry.base = await lease(loaded, entry);
    }
    try {
      entry.bytes = await takeBytes(entry, await entry.source.size(), sharer);
      await entry.source.load(entry.id, entry.base?.id);
    } catch (error) {
      usedBytes -= entry.bytes;
      entry.bytes = 0;
      entry.base?.release();
      entry.base = undefined;
      turns.changed();
      throw error;
    }
  }

  async function takeBytes(entry: Entry, bytes: number, sharer: Sharer | undefined): Promise<number> {
    if (bytes > budgetBytes) {
      throw new HeddleError(
        "too_large",
        `the weights need ${bytes} bytes; the limit for loaded weights is ${budgetBytes}`,
      );
    }
    if (sharer) await turns.take(() => sharersOf(entry).filter((each) => each !== undefined), bytes);
    else if (!(await reserve(() => makeFree(bytes)))) {
      const free = `${budgetBytes - usedBytes} of ${budgetBytes}`;
      throw new HeddleError("busy", `the weights need ${bytes} bytes; ${free} are not in use`);
    }
    return bytes;
  }

  /** Takes bytes, dropping weights that nobody uses, least recently used first. Returns false if too little is free. */
  async function makeFree(bytes: number): Promise<boolean> {
    while (usedBytes + bytes > budgetBytes) {
      const idle = [...entries.values()].filter(({ users, bytes }) => users.size === 0 && bytes > 0);
      const oldest = idle.toSorted((a, b) => a.lastUse - b.lastUse)[0];
      if (!oldest) return false;
      await drop(oldest);
    }
    usedBytes += bytes;
    return true;
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
    acquireCached,
    async invalidate(name) {
      const entry = entries.get(name);
      if (!entry) return;
      removeEntry(entry);
      if (entry.users.size === 0) await drop(entry);
    },
  };
}

/** Returns who has requests on the weights, or on adapters on them. */
function sharersOf({ users }: Entry): (Sharer | undefined)[] {
  return [...users].flatMap(({ of }) => (isAdapter(of) ? sharersOf(of) : [of]));
}

function isAdapter(user: Sharer | Entry | undefined): user is Entry {
  return user !== undefined && "users" in user;
}
