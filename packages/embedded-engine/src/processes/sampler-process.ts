import { HeddleError, withLoc } from "@heddle/errors";
import type { CompletionChunk, GenerateResult } from "@heddle/training";
import type { CpuSampler } from "../decode/cpu-sampler.js";
import { requestShare } from "../decode/admission.js";
import { createCpuSampler } from "../decode/cpu-sampler.js";
import { responseLimit, maxLogprobs } from "./response-limit.js";
import { ColumnToken, columnsOf, maxListed } from "../sampling/sampled-token.js";
import type { SamplerMethods, SentResult } from "./sampler-protocol.js";
import { serve } from "./serve.js";
import type { ServedWeights } from "./served-weights.js";
import { servedWeights } from "./served-weights.js";
import { untilAborted } from "./until-aborted.js";

// Entry point of the sampling process: one scheduler for the requests on all weights.

let open: { sampler: CpuSampler; weights: ServedWeights } | undefined;

serve<SamplerMethods>({
  async open({ models, memoryBytes, promptCacheBytes, ...settings }) {
    const requestBytes = memoryBytes * requestShare;
    const sampler = createCpuSampler({ ...settings, memoryBytes: requestBytes, promptCacheBytes, maxLogprobs });
    open = { sampler, weights: servedWeights(sampler, models, memoryBytes * (1 - requestShare)) };
  },
  async generate({ request, stream }, { signal, emit }) {
    const { sampler, weights } = requireOpen();
    const loading = withLoc(["weights"], () => weights.acquire(request.weights, request.sharer));
    const limit = responseLimit(maxLogprobs);
    const onChunk = (chunk: CompletionChunk): Promise<void> | undefined => {
      limit.add(chunk);
      if (!stream) return undefined;
      const sent = emit(chunk);
      return chunk.tokens.some((token) => token instanceof ColumnToken) ? sent : undefined;
    };
    try {
      const { id } = await untilAborted(loading, signal);
      const options = { signal: AbortSignal.any([signal, limit.signal]), onChunk };
      const result = await sampler.generate({ ...request, weights: id }, options);
      limit.check(result);
      const { baseModel, checkpoint } = request.weights;
      return sentResult({ ...result, weightsId: checkpoint ?? baseModel }, stream && !request.beamSearch);
    } catch (error) {
      limit.check();
      throw error;
    } finally {
      // Also if the request was aborted while its weights were loading.
      void loading.then(
        (lease) => lease.release(),
        () => undefined,
      );
    }
  },
  async preload(ref) {
    const lease = await requireOpen().weights.acquire(ref);
    lease.release();
  },
  unload: (ref) => requireOpen().weights.invalidate(ref),
});

/** Puts long lists in columns, and leaves out those that were sent in chunks before. */
function sentResult({ promptLogprobs, completions, ...result }: GenerateResult, wasStreamed: boolean): SentResult {
  const listed = promptLogprobs?.map((list) => (list && list.length > maxListed ? columnsOf(list) : list));
  return {
    ...result,
    completions: completions.map(({ tokens, ...completion }) => ({
      ...completion,
      tokens: tokens.map((token) =>
        wasStreamed && token instanceof ColumnToken
          ? { token: token.token, logprob: token.logprob, alternatives: [] }
          : token,
      ),
    })),
    ...(listed && { promptLogprobs: listed }),
  };
}

function requireOpen(): { sampler: CpuSampler; weights: ServedWeights } {
  if (!open) throw new HeddleError("failed", "the sampler is not open");
  return open;
}
