export type { ReadingStatement, Statements } from "./frames/statements.js";
export { startEngineHost, type EngineHost } from "./engine-host.js";
export type { EngineHostOptions } from "./supervision/start-options.js";
