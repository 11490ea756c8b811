export { FairShare, type FairShareOptions, type Release, type Sharer } from "./fair-share.js";
