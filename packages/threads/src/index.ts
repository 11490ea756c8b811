export { onThreadOutput, sourceConditions, startThread } from "./start-thread.js";
export { fromWireError, toWireError } from "./wire-error.js";
export type { WireError } from "./wire-error.js";
