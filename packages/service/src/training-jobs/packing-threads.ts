import { FairThreads } from "@heddle/concurrency";
import type { PackingTasks } from "./packing-thread.js";

/** Heap of one thread. */
const packingHeapMb = 512;
const packingThreadCount = 2;

/** The threads in which large trajectories are validated. */
export const packingThreads = new FairThreads<PackingTasks>({
  module: new URL("packing-thread.ts", import.meta.url),
  threads: packingThreadCount,
  resourceLimits: { maxOldGenerationSizeMb: packingHeapMb },
  waitingPerKey: 100,
  waiting: 1000,
  messages: {
    key: "The requests of this key have 100 trajectories that wait to be validated",
    all: "All requests together have 1000 trajectories that wait to be validated",
  },
});
