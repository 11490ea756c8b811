export { EngineError } from "./engine-error.js";
export * from "./port.js";
export { adapterTargets, type AdapterConfig, type AdapterTarget } from "./model/parameters.js";
export { openEmbeddedEngine, type EmbeddedEngineSettings } from "./embedded/engine.js";
