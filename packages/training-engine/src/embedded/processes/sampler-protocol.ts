import type { GenerateRequest, GenerateResult, CompletionChunk, WeightsRef } from "../../port.js";
import type { BaseModelSettings } from "../../weights/base-models.js";

export interface SamplerOpening {
  models: BaseModelSettings;
  /** Loaded weights and caches together. */
  memoryBytes: number;
}

/** What the engine asks of the sampling process; see `Sampler` in port.ts. Calls are answered side by side. */
export interface SamplerMethods {
  /** First and once. */
  open: { params: SamplerOpening; result: void; event: never };
  /** Events only when `stream` is set. */
  generate: { params: { request: GenerateRequest; stream: boolean }; result: GenerateResult; event: CompletionChunk };
  preload: { params: WeightsRef; result: void; event: never };
  unload: { params: WeightsRef; result: void; event: never };
}
