export { FairShare, type FairShareOptions, type Release, type Sharer, type ShareLoad } from "./fair-share.js";
