export { openTraceStore } from "./store.js";
export type { TraceStore, TraceStoreOptions } from "./store.js";
export { EngineError, StoreError } from "./errors.js";
export type { StoreErrorCode } from "./errors.js";
