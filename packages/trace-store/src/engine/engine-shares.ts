import { FairShare } from "@heddle/fair-share";
import type { Sharer } from "@heddle/fair-share";
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

/** How the statements of the engine are shared. Without it only their number is limited. */
export interface EngineShares {
  /** On whose behalf the running code works; undefined for work of the service itself. */
  sharer: () => Sharer | undefined;
  /** Reads of one key, and of all keys of one entity, at once. */
  readsPerKey: number;
  readsPerEntity: number;
  /** Why a read is refused that has waited too long for its key or its entity. */
  messages: { key: string; entity: string };
}

/** The engine as each kind of work may use it. */
export interface SharedEngine {
  reads: Engine;
  lookups: Engine;
  writes: Engine;
  commits: Engine;
}

export function shareEngine(engine: Engine, shares: EngineShares | undefined): SharedEngine {
  const sharer = shares?.sharer;
  const reads = { all: "Too many reads at once", ...(shares?.messages ?? unshared) };
  const writes = { all: "Too many writes at once", key: tooManyWrites, entity: tooManyWrites };
  return {
    reads: withSlots(
      engine,
      new FairShare({
        capacity: readSlots,
        perKey: shares?.readsPerKey,
        perEntity: shares?.readsPerEntity,
        messages: reads,
      }),
      sharer,
    ),
    lookups: withSlots(
      engine,
      new FairShare({ capacity: lookupSlots, perKey: lookupSlots - 1, messages: reads }),
      sharer,
    ),
    writes: withSlots(
      engine,
      new FairShare({ capacity: writeSlots, perKey: writeSlots - 1, messages: writes }),
      sharer,
    ),
    commits: withSlots(engine, new FairShare({ capacity: commitSlots, messages: writes })),
  };
}

const tooManyWrites = "This key has too many writes at once";
const unshared = { key: "", entity: "" };
