import type { GenerateRequest, GenerateResult, CompletionChunk, WeightsRef } from "@heddle/training";
import type { BaseModelSettings } from "../weights/base-models.js";

export interface SamplerOpening {
  models: BaseModelSettings;
  /** Memory limit of weights and caches together, in bytes. */
  memoryBytes: number;
  /** Name of the setting that the memory comes from, for errors. */
  memorySetting: string | undefined;
  /** Maximum number of threads that compute one operator. */
  threads: number;
}

/** Methods of the sampling process; see `Sampler` in port.ts. Calls are served concurrently. */
export interface SamplerMethods {
  /** Called first, and once. */
  open: { params: SamplerOpening; result: void; event: never };
  /** Events are sent only if `stream` is set. */
  generate: { params: { request: GenerateRequest; stream: boolean }; result: GenerateResult; event: CompletionChunk };
  preload: { params: WeightsRef; result: void; event: never };
  unload: { params: WeightsRef; result: void; event: never };
}
