import { EngineError } from "../../engine-error.js";
import { createCpuSampler, type CpuSampler } from "../decode/cpu-sampler.js";
import type { SamplerMethods } from "./sampler-protocol.js";
import { serve } from "./serve.js";
import { servedWeights, type ServedWeights } from "./served-weights.js";
import { untilAborted } from "./until-aborted.js";

// The entry of the sampling process: one scheduler for all requests, on whatever weights they name.

/** Of the memory of the process, for the caches of running requests; the rest is for weights. */
const cacheShare = 1 / 3;

let open: { sampler: CpuSampler; weights: ServedWeights } | undefined;

serve<SamplerMethods>({
  async open({ models, memoryBytes }) {
    const sampler = createCpuSampler({ memoryBytes: memoryBytes * cacheShare });
    open = { sampler, weights: servedWeights(sampler, models, memoryBytes * (1 - cacheShare)) };
  },
  async generate({ request, stream }, { signal, emit }) {
    const { sampler, weights } = theOpen();
    const loading = weights.acquire(request.weights);
    try {
      const { id } = await untilAborted(loading, signal);
      return await sampler.generate({ ...request, weights: id }, { signal, onChunk: stream ? emit : undefined });
    } finally {
      // Also when the request was aborted before its weights were there.
      void loading.then(
        (lease) => lease.release(),
        () => undefined,
      );
    }
  },
  async preload(ref) {
    const lease = await theOpen().weights.acquire(ref);
    lease.release();
  },
  unload: (ref) => theOpen().weights.forget(ref),
});

function theOpen(): { sampler: CpuSampler; weights: ServedWeights } {
  if (!open) throw new EngineError("failed", "the sampler is not open");
  return open;
}
