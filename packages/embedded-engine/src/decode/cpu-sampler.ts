import type { GenerateRequest, LoraConfig } from "@heddle/training";
import type { Constraints, ConstraintWork, StructuredOutput } from "@heddle/structured-outputs";
import { randomInt } from "node:crypto";
import { HeddleError, withLoc } from "@heddle/errors";
import type { ModelConfig } from "../model/config.js";
import { isLongText } from "../model/long-texts.js";
import type { ParameterSet } from "../model/parameters.js";
import type { CompletionContext } from "../sampling/completion-sampler.js";
import type { SamplingResult } from "../sampling/sampling-request.js";
import { checkSamplingRequest } from "../sampling/sampling-request.js";
import { minBytes, shareOfKey } from "./admission.js";
import { operatorThreads } from "../model/operator-threads.js";
import type { CompiledConstraint } from "./compiled-constraint.js";
import { compileConstraint } from "./compiled-constraint.js";
import { createScheduledRequest, maxLogprobsOf } from "./scheduled-request.js";
import type { OnChunk } from "./scheduled-request.js";
import { prepareBase } from "./prepared-weights.js";
import { PromptCache } from "./prompt-cache.js";
import type { SamplerModel } from "./sampler-model.js";
import { createScheduler } from "./scheduler.js";
import type { RegisteredWeights } from "./weights-registry.js";
import { createWeightsRegistry } from "./weights-registry.js";

export interface CpuSamplerSettings {
  /**
   * Memory for the caches and results of running requests, in bytes. A single request that needs more, or more than the
   * share of its key, is rejected with `too_large`.
   */
  memoryBytes: number;
  /**
   * Memory for prompts that are kept for later requests, of what the running requests leave of `memoryBytes`. Default: half
   * of it; 0 keeps none.
   */
  promptCacheBytes?: number | undefined;
  /** Name of the setting that the memory comes from, for errors. */
  memorySetting?: string | undefined;
  /** Maximum number of log-probabilities in one result: requests for whole vocabularies that could exceed it are rejected. */
  maxLogprobs?: number;
  /** Maximum number of threads that compute one operator, which small models do not use. Default 1. */
  threads?: number;
  /** Maximum number of completions decoded at the same time, over all weights. Default 128, of which a key has 64. */
  maxRows?: number;
  /**
   * Maximum number of requests that have not started; more are rejected with `busy`, and with `rate_limited` above the
   * half that one key may have. Default 512.
   */
  maxQueued?: number;
  /** Source of seeds for requests without one, as unsigned 32-bit integers. Default: random. */
  newSeed?: () => number;
}

/** A request that addresses weights by registration id instead of a `WeightsRef`. */
export type CpuGenerateRequest = Omit<GenerateRequest, "weights"> & { weights: string };

export interface CpuSampler {
  /**
   * Registers a model. Shares `weights.flat`, which must not change while the model is registered; large ones, unless `mode`
   * is `inputs`, are put into another order and not of use to others afterwards. Rejects with `invalid` if the id exists.
   */
  addModel(id: string, model: SamplerModel): Promise<void>;
  /** Registers an adapter on a registered model. Rejects with `not_found` if the model is not registered. */
  addAdapter(id: string, baseId: string, adapter: { config: LoraConfig; set: ParameterSet }): Promise<void>;
  /**
   * Removes weights from the registry; new requests no longer find them. Resolves when the last running request has
   * finished and the memory is freed. A model is freed after the adapters on it. An unknown id is ignored.
   */
  remove(id: string): Promise<void>;
  /** Like `Sampler.generate`. Runs in the calling thread and yields to the event loop between steps. */
  generate(request: CpuGenerateRequest, options?: { onChunk?: OnChunk; signal?: AbortSignal }): Promise<SamplingResult>;
  stats(): SamplerStats;
  /** Rejects running requests with `aborted` and frees everything. */
  close(): Promise<void>;
}

interface SamplerStats {
  rows: number;
  queued: number;
  /** Number of prefilled prompts and of row group steps since the sampler was created. */
  prefills: number;
  steps: number;
  cacheBytes: number;
  /** Bytes of the kept prompts. */
  promptCacheBytes: number;
}

/** Creates a sampler that serves any number of models and adapters with one scheduler and continuous batching. */
export function createCpuSampler(settings: CpuSamplerSettings): CpuSampler {
  const { memoryBytes, threads = 1, maxRows = 128, maxQueued = 512, memorySetting } = settings;
  const newSeed = settings.newSeed ?? (() => randomInt(2 ** 32));
  const prompts = new PromptCache(settings.promptCacheBytes ?? memoryBytes / 2);
  const scheduler = createScheduler({ maxRows, memoryBytes, prompts });
  const registry = createWeightsRegistry();
  /** Abort functions of the running requests. */
  const running = new Set<() => void>();
  let closed = false;
  let [arrivals, preparing] = [0, 0];

  const capacity = { rows: maxRows, bytes: memoryBytes };
  const shareOf = ({ sharer }: CpuGenerateRequest) => (sharer ? shareOfKey(capacity) : capacity);

  const contextOf = (request: CpuGenerateRequest, { prepared, model }: RegisteredWeights): CompletionContext => {
    const { vocabularySize, contextLength } = prepared.config;
    checkSamplingRequest(request, { vocabularySize, contextLength, maxBeams: shareOf(request).rows });
    if (request.structuredOutput && !model.constraints) {
      throw new HeddleError("unsupported", "structured output is not available for these weights", {
        loc: ["structuredOutput"],
      });
    }
    requireBeamsOfOneKind(request, prepared.config);
    const { tokenizer } = model;
    const seed = request.seed ?? newSeed();
    return { request, tokenizer, eosIds: model.eosIds ?? tokenizer.eosIds, rowSize: vocabularySize, seed };
  };
  const requireFewLogprobs = (context: CompletionContext) => {
    const { topLogprobs, promptLogprobs } = context.request;
    if (topLogprobs !== -1 && promptLogprobs !== -1) return;
    const most = maxLogprobsOf(context);
    if (most <= (settings.maxLogprobs ?? Infinity)) return;
    throw new HeddleError(
      "too_large",
      `the result can have ${most} log-probabilities, more than ${settings.maxLogprobs}; request fewer tokens, completions or alternatives`,
    );
  };
  const requireQueueSpace = ({ sharer }: CpuGenerateRequest) => {
    const ofKey = Math.ceil(maxQueued / 2);
    if (sharer && scheduler.queuedOf(sharer.key) >= ofKey) {
      throw new HeddleError("rate_limited", `${ofKey} requests of this key are queued; try again later`);
    }
    if (scheduler.queued + preparing >= maxQueued) {
      throw new HeddleError("busy", `${maxQueued} requests are queued; try again later`);
    }
  };
  const compile = async (
    output: StructuredOutput,
    constraints: Constraints,
    work: ConstraintWork,
  ): Promise<CompiledConstraint> => {
    preparing++;
    try {
      return await withLoc(["structuredOutput"], () => compileConstraint(constraints, output, work));
    } finally {
      preparing--;
    }
  };
  const sample = async (
    request: CpuGenerateRequest,
    served: RegisteredWeights,
    { onChunk, signal }: { onChunk?: OnChunk; signal?: AbortSignal },
  ): Promise<SamplingResult> => {
    const context = contextOf(request, served);
    const { prepared, model } = served;
    const minimum = minBytes({ weights: prepared, context });
    const available = shareOf(request).bytes;
    if (minimum > available) {
      const setting = memorySetting === undefined ? "" : ` (${memorySetting})`;
      const whose = request.sharer ? "are available to one key" : "are available";
      throw new HeddleError(
        "too_large",
        `the request needs ${minimum} bytes for caches and results; ${Math.floor(available)} ${whose}${setting}`,
      );
    }
    requireFewLogprobs(context);
    requireQueueSpace(request);
    const { structuredOutput } = request;
    const constraint =
      structuredOutput &&
      model.constraints &&
      (await compile(structuredOutput, model.constraints, { sharer: request.sharer, signal }));
    let abort: () => void = () => undefined;
    const result = new Promise<SamplingResult>((resolve, reject) => {
      const scheduled = createScheduledRequest({
        weights: prepared,
        context,
        constraint,
        order: arrivals++,
        onChunk,
        resolve,
        reject,
      });
      abort = () => scheduled.fail(aborted());
      if (closed || signal?.aborted) return abort();
      running.add(abort);
      signal?.addEventListener("abort", abort, { once: true });
      scheduler.add(scheduled);
    });
    return result.finally(() => {
      running.delete(abort);
      // A signal that outlives the request would keep its weights referenced.
      signal?.removeEventListener("abort", abort);
    });
  };

  return {
    async addModel(id, model) {
      const { config, weights, mode } = model;
      await registry.add(id, async () => {
        const prepared = await prepareBase(config, weights, { mode, threads: operatorThreads(config, threads) });
        prompts.open(prepared);
        const release = async () => {
          prompts.close(prepared);
          await prepared.release();
        };
        return { prepared, model, base: prepared, release };
      });
    },
    async addAdapter(id, baseId, { config, set }) {
      const lease = registry.acquire(baseId);
      await registry
        .add(id, async () => {
          const { base, model } = lease.served;
          const prepared = await base.adapt(config, set);
          prompts.open(prepared);
          const release = async () => {
            prompts.close(prepared);
            lease.release();
          };
          return { prepared, model, base, release };
        })
        .catch((error: unknown) => {
          lease.release();
          throw error;
        });
    },
    remove: (id) => registry.remove(id),
    async generate(request, { onChunk, signal } = {}) {
      const lease = registry.acquire(request.weights);
      try {
        if (closed || signal?.aborted) throw aborted();
        return await sample(request, lease.served, { onChunk, signal });
      } finally {
        lease.release();
      }
    },
    stats: () => ({
      rows: scheduler.rows,
      queued: scheduler.queued + preparing,
      prefills: scheduler.prefills,
      steps: scheduler.steps,
      cacheBytes: scheduler.cacheBytes,
      promptCacheBytes: prompts.bytes,
    }),
    async close() {
      closed = true;
      for (const abort of running) abort();
      await scheduler.idle();
      await registry.close();
    },
  };
}

/** Beams are not read again where their text becomes a long one. */
function requireBeamsOfOneKind({ beamSearch, prompt, maxTokens }: CpuGenerateRequest, config: ModelConfig): void {
  if (!beamSearch || isLongText(config, prompt.length) || !isLongText(config, prompt.length + maxTokens)) return;
  const { rotaryScaling } = config;
  const length = rotaryScaling?.type === "longrope" ? ` of ${rotaryScaling.originalContextLength} tokens` : "";
  throw new HeddleError("unsupported", `a beam search cannot go beyond the original context${length} of this model`, {
    loc: ["beamSearch"],
  });
}

function aborted(): HeddleError {
  return new HeddleError("aborted", "the request was aborted");
}
