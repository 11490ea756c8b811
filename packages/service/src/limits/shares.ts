import { FairShare } from "@heddle/concurrency";
import { readSlots } from "@heddle/trace-store";
import type { EngineShares } from "@heddle/trace-store";
import type { Limits } from "../config/config.js";
import { currentSharer } from "./request-scope.js";

/** The working memory of the service: half of it for one key, three quarters for one entity. */
export function openWorkingMemory({ workingMemoryBytes }: Limits): FairShare {
  return new FairShare({
    capacity: workingMemoryBytes,
    perKey: workingMemoryBytes / 2,
    perEntity: workingMemoryBytes * 0.75,
    messages: {
      key: `The requests of this key hold half of the ${workingMemoryBytes} bytes that all requests may hold (HEDDLE_WORKING_MEMORY)`,
      entity: `The requests of this entity hold three quarters of the ${workingMemoryBytes} bytes that all requests may hold (HEDDLE_WORKING_MEMORY)`,
      all: `All requests together hold the ${workingMemoryBytes} bytes that they may hold (HEDDLE_WORKING_MEMORY)`,
    },
  });
}

/** Slots of requests beside the spec that work on the main thread, a few milliseconds at a time. */
export function openTurns({ readsPerKey, readsPerEntity }: Limits): FairShare {
  return new FairShare({
    capacity: readSlots,
    perKey: readsPerKey,
    perEntity: readsPerEntity,
    messages: {
      key: `This key has ${readsPerKey} requests running, which is its share (HEDDLE_READS_PER_KEY)`,
      entity: `This entity has ${readsPerEntity} requests running, which is its share (HEDDLE_READS_PER_ENTITY)`,
      all: "The service is busy with other requests",
    },
  });
}

/** Exports that run at once. Each takes a slot of reads for as long as it is downloaded, and its key has more of those. */
export function openExportSlots(): FairShare {
  return new FairShare({
    capacity: readSlots / 2,
    perKey: 1,
    perEntity: Math.max(1, readSlots / 4),
    messages: {
      key: "This key downloads an export already, and has one at a time",
      entity: `This entity downloads ${Math.max(1, readSlots / 4)} exports already, which is its share`,
      all: "Others download exports: try again later",
    },
  });
}

interface Engines {
  /** Of an engine on this machine. */
  cores?: number | undefined;
  /** How many tracing databases the installation has; each has an engine of its own, as far as it knows. */
  databases: number;
}

/** A request may read while it reads. */
const leastReads = 2;

/**
 * How requests share the engine of a tracing database. Of several, each gives a key twice its part of the reads: with projects
 * in all of them it has at most about twice as many as with one, and with projects in one it gets most of its share.
 */
export function engineShares(
  { readsPerKey: ofKey, readsPerEntity: ofEntity }: Limits,
  { cores, databases }: Engines = { databases: 1 },
): EngineShares {
  const part = (reads: number) => Math.min(reads, Math.max(leastReads, Math.ceil((2 * reads) / databases)));
  const [readsPerKey, readsPerEntity] = [part(ofKey), part(ofEntity)];
  return {
    sharer: currentSharer,
    cores,
    readsPerKey,
    readsPerEntity,
    messages: {
      key: `This key has ${readsPerKey} reads running, which is its share (HEDDLE_READS_PER_KEY)`,
      entity: `This entity has ${readsPerEntity} reads running, which is its share (HEDDLE_READS_PER_ENTITY)`,
    },
  };
}
