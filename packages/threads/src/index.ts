export { entryModule } from "./entry-module.js";
export type { EntryModule } from "./entry-module.js";
export { onThreadOutput, startThread } from "./start-thread.js";
export { fromWireError, toWireError } from "./wire-error.js";
export type { WireError } from "./wire-error.js";
