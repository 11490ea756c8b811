export { FairShare, type FairShareOptions, type Release, type Sharer, type ShareLoad } from "./fair-share.js";
export { FairQueue, type FairQueueOptions, type Turn } from "./fair-queue.js";
