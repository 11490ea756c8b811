export { FairQueue, type FairQueueOptions, type Turn } from "./fair-queue.js";
export { FairShare, type FairShareOptions, type Release, type Sharer, type ShareLoad } from "./fair-share.js";
export { ComputingBudget } from "./threads/computing-budget.js";
export { entryModule, type EntryModule } from "./threads/entry-module.js";
export { FairThreads, type FairThreadsOptions, type TaskOptions } from "./threads/fair-threads.js";
export { serveTasks, type Tasks } from "./threads/serve-tasks.js";
export { onThreadOutput, startThread } from "./threads/start-thread.js";
export { fromWireError, toWireError, type WireError } from "./threads/wire-error.js";
