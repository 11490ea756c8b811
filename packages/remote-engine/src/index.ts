export type { GradientScale, RemoteModel, ServedModel, TrainedModel } from "./remote-model.js";
export { openTinkerTrainers } from "./tinker/provider.js";
export type { TinkerSettings } from "./tinker/provider.js";
export { openVllmSampler } from "./vllm/provider.js";
export type { VllmSettings } from "./vllm/provider.js";
