export { openEmbeddedEngine } from "./engine.js";
export type { EmbeddedEngineSettings } from "./engine.js";
export { unavailableReason } from "./session.js";
