// Servers with the wires of SkyRL and vLLM, for tests of what runs on them.
export { serverModel, TinkerServer } from "./tinker-server.js";
export { VllmServer } from "./vllm-server.js";
