import { FairShare } from "@heddle/concurrency";
import type { ShareLoad, Sharer } from "@heddle/concurrency";
import type { Engine } from "./engine.js";
import { withSlots } from "./statement-slots.js";

/** Statements of reads at once. The embedded engine runs 16 statements at once. */
export const readSlots = 8;
/** Further ones, for the lookups of lists that hold a slot. */
const lookupSlots = 2;
/** Further ones, for writes and what they look up; calls are written without this limit. */
const writeSlots = 3;
/** One more for groups of writes of several keys, which wait for nobody's share. */
const commitSlots = 1;

/** Of the reads, so many may be those of tails at once, which are nobody's share. */
const tailSlots = 2;

/** How the statements of the engine are shared. Without it only their number is limited. */
export interface EngineShares {
  /** On whose behalf the running code works; undefined for work of the service itself. */
  sharer: () => Sharer | undefined;
  /** Reads of one key, and of all keys of one entity, at once. */
  readsPerKey: number;
  readsPerEntity: number;
  /** Why a read is refused that has waited too long for its key or its entity. */
  messages: { key: string; entity: string };
  /** Cores of the engine, where it runs on this machine: the reads of an entity divide them among themselves. */
  cores?: number | undefined;
}

/** The engine as each kind of work may use it. */
export type SharedEngine = Record<SlotPool | "tails", Engine>;

/** Slots that one kind of work shares. */
export type SlotPool = "reads" | "lookups" | "writes" | "commits";

export function shareEngine(
  engine: Engine,
  shares: EngineShares | undefined,
): { engines: SharedEngine; load: () => Record<SlotPool, ShareLoad> } {
  const sharer = shares?.sharer;
  const cores = shares?.cores;
  const reads = { all: "Too many reads at once", ...(shares?.messages ?? unshared) };
  const writes = { all: "Too many writes at once", key: tooManyWrites, entity: tooManyWrites };
  const slots = {
    reads: new FairShare({
      capacity: readSlots,
      perKey: shares?.readsPerKey,
      perEntity: shares?.readsPerEntity,
      messages: reads,
    }),
    lookups: new FairShare({ capacity: lookupSlots, perKey: lookupSlots - 1, messages: reads }),
    writes: new FairShare({ capacity: writeSlots, perKey: writeSlots - 1, messages: writes }),
    commits: new FairShare({ capacity: commitSlots, messages: writes }),
  };
  const tails = new FairShare({ capacity: tailSlots, messages: reads });
  return {
    engines: {
      tails: withSlots(withSlots(engine, slots.reads), tails),
      reads: withSlots(engine, slots.reads, { sharer, cores }),
      lookups: withSlots(engine, slots.lookups, { sharer }),
      writes: withSlots(engine, slots.writes, { sharer }),
      commits: withSlots(engine, slots.commits),
    },
    load: () => ({
      reads: slots.reads.load,
      lookups: slots.lookups.load,
      writes: slots.writes.load,
      commits: slots.commits.load,
    }),
  };
}

const tooManyWrites = "This key has too many writes at once";
const unshared = { key: "", entity: "" };
