import type { GenerateRequest, GenerateResult, CompletionChunk, TokenLogprob, WeightsRef } from "@heddle/training";
import type { LogprobColumns } from "../sampling/sampled-token.js";
import type { BaseModelSettings } from "../weights/base-models.js";

export interface SamplerOpening {
  models: BaseModelSettings;
  /** Memory limit of weights and caches together, in bytes. */
  memoryBytes: number;
  /** Name of the setting that the memory comes from, for errors. */
  memorySetting: string | undefined;
  /** Maximum number of threads that compute one operator. */
  threads: number;
  /** Memory for prompts that are kept. Absent: the default of the sampler. */
  promptCacheBytes?: number | undefined;
}

/** A result whose long lists are in columns: those of the prompt as they are here, those of tokens as `restoreTokens` reads. */
export type SentResult = Omit<GenerateResult, "promptLogprobs"> & {
  promptLogprobs?: (TokenLogprob[] | LogprobColumns | null)[];
};

/** Methods of the sampling process; see `Sampler` in port.ts. Calls are served concurrently. */
export interface SamplerMethods {
  /** Called first, and once. */
  open: { params: SamplerOpening; result: void; event: never };
  /** Events are sent only if `stream` is set. */
  generate: { params: { request: GenerateRequest; stream: boolean }; result: SentResult; event: CompletionChunk };
  preload: { params: WeightsRef; result: void; event: never };
  unload: { params: WeightsRef; result: void; event: never };
}
