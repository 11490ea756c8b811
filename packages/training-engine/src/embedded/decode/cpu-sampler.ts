import { randomInt } from "node:crypto";
import { EngineError } from "../../engine-error.js";
import type { LoraConfig, ParameterSet } from "../../model/parameters.js";
import type { GenerateRequest, GenerateResult, CompletionChunk, StructuredOutput } from "../../port.js";
import type { CompletionContext } from "../../sampling/completion-sampler.js";
import { checkSamplingRequest } from "../../sampling/sampling-request.js";
import type { Constraints } from "../../sampling/structured/constraints.js";
import type { CompiledConstraint } from "./compiled-constraint.js";
import { compileConstraint } from "./compiled-constraint.js";
import { createScheduledRequest } from "./scheduled-request.js";
import { prepareBase } from "./prepared-weights.js";
import type { SamplerModel } from "./sampler-model.js";
import { createScheduler, minBytes } from "./scheduler.js";
import type { RegisteredWeights } from "./weights-registry.js";
import { createWeightsRegistry } from "./weights-registry.js";

export interface CpuSamplerSettings {
  /** Caches of running requests and what is kept for their answers; a request that alone needs more is `too_large`. */
  memoryBytes: number;
  /** Of each run of a graph. Default 1. */
  threads?: number;
  /** Completions decoded at once, over all weights. Default 64. */
  maxRows?: number;
  /** Requests of which nothing has begun; more are `busy`. Default 256. */
  maxQueued?: number;
  /** For requests without a seed: unsigned 32 bit. Default random. */
  newSeed?: () => number;
}

/** The weights go by an id of their own instead of a `WeightsRef`. */
export type CpuGenerateRequest = Omit<GenerateRequest, "weights"> & { weights: string };

export interface CpuSampler {
  /** Shares `weights.flat`, which must not change while the model is served. `invalid` when the id is taken. */
  addModel(id: string, model: SamplerModel): Promise<void>;
  /** Serves an adapter on a model that was added. `not_found` when it was not. */
  addAdapter(id: string, baseId: string, adapter: { config: LoraConfig; set: ParameterSet }): Promise<void>;
  /**
   * New requests do not find it any more; resolves when the last running one is done and its memory is given back. A model
   * with adapters on it goes after them. An unknown id is ignored.
   */
  remove(id: string): Promise<void>;
  /** As `Sampler.generate`. Runs in the calling thread, in steps between which the event loop turns. */
  generate(
    request: CpuGenerateRequest,
    options?: { onChunk?: (chunk: CompletionChunk) => void; signal?: AbortSignal },
  ): Promise<GenerateResult>;
  stats(): SamplerStats;
  /** Rejects what runs with `aborted` and frees everything. */
  close(): Promise<void>;
}

interface SamplerStats {
  rows: number;
  queued: number;
  /** Prompts read and steps of groups of rows since the sampler was made. */
  prefills: number;
  steps: number;
  cacheBytes: number;
}

/** Serves any number of models and adapters by one scheduler with continuous batching. */
export function createCpuSampler(settings: CpuSamplerSettings): CpuSampler {
  const { memoryBytes, threads = 1, maxRows = 64, maxQueued = 256 } = settings;
  const newSeed = settings.newSeed ?? (() => randomInt(2 ** 32));
  const scheduler = createScheduler({ maxRows, memoryBytes });
  const registry = createWeightsRegistry();
  /** Ends of what is being generated. */
  const running = new Set<() => void>();
  let closed = false;
  let [arrivals, preparing] = [0, 0];

  const contextOf = (request: CpuGenerateRequest, { prepared, model }: RegisteredWeights): CompletionContext => {
    const { vocabularySize, contextLength } = prepared.config;
    checkSamplingRequest(request, { vocabularySize, contextLength, maxBeams: maxRows });
    if (request.structuredOutput && !model.constraints) {
      throw new EngineError("unsupported", "structured output is not available for these weights", "structuredOutput");
    }
    const { tokenizer } = model;
    const seed = request.seed ?? newSeed();
    return { request, tokenizer, eosIds: model.eosIds ?? tokenizer.eosIds, rowSize: vocabularySize, seed };
  };
  const compile = async (output: StructuredOutput, constraints: Constraints): Promise<CompiledConstraint> => {
    preparing++;
    try {
      return await compileConstraint(constraints, output);
    } finally {
      preparing--;
    }
  };
  const sample = async (
    request: CpuGenerateRequest,
    served: RegisteredWeights,
    { onChunk, signal }: { onChunk?: (chunk: CompletionChunk) => void; signal?: AbortSignal },
  ): Promise<GenerateResult> => {
    const context = contextOf(request, served);
    const { prepared, model } = served;
    const minimum = minBytes({ weights: prepared, context });
    if (minimum > memoryBytes) {
      throw new EngineError(
        "too_large",
        `the request needs ${minimum} bytes of caches and answers, and there are ${memoryBytes}`,
      );
    }
    if (scheduler.queued + preparing >= maxQueued) {
      throw new EngineError("busy", `${maxQueued} requests wait already; try again later`);
    }
    const { structuredOutput } = request;
    const available = structuredOutput && model.constraints;
    const constraint = available ? await compile(structuredOutput, available) : undefined;
    let abort: () => void = () => undefined;
    const result = new Promise<GenerateResult>((resolve, reject) => {
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
      // A signal that outlives the request would keep its weights.
      signal?.removeEventListener("abort", abort);
    });
  };

  return {
    async addModel(id, model) {
      const { config, weights, mode } = model;
      await registry.add(id, async () => {
        const prepared = await prepareBase(config, weights, { mode, threads });
        return { prepared, model, base: prepared, release: () => prepared.release() };
      });
    },
    async addAdapter(id, baseId, { config, set }) {
      const lease = registry.acquire(baseId);
      await registry
        .add(id, async () => {
          const { base, model } = lease.served;
          const release = async () => lease.release();
          return { prepared: await base.adapt(config, set), model, base, release };
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
    }),
    async close() {
      closed = true;
      for (const abort of running) abort();
      await scheduler.idle();
      await registry.close();
    },
  };
}

function aborted(): EngineError {
  return new EngineError("aborted", "the request was aborted");
}
