import { availableParallelism } from "node:os";
import { machineMemory } from "@heddle/concurrency";
import { HeddleError, withLoc } from "@heddle/errors";
import { structuredOutputsAvailable } from "@heddle/structured-outputs";
import type { BaseModelInfo, GenerateRequest, TrainerSpec, TrainingEngine } from "@heddle/training";
import { adapterIfNone, withCapabilities } from "./capabilities.js";
import { startExport } from "./export/start-export.js";
import { requireTrainingMemory } from "./model/memory.js";
import type { BaseModelProblem, BaseModelSettings } from "./weights/base-models.js";
import { listBaseModels } from "./weights/base-models.js";
import { checkedAdapter, describeWeights, weightsDigest } from "./weights/load-weights.js";
import { writeUntrainedAdapter } from "./weights/untrained-adapter.js";
import type { EngineProcess } from "./processes/child.js";
import { openChild } from "./processes/open-child.js";
import { restartingSampler } from "./processes/sampler-client.js";
import type { SamplerMethods, SamplerOpening } from "./processes/sampler-protocol.js";
import { openTrainerProcess } from "./processes/trainer-client.js";
import type { TrainerRequest } from "./processes/trainer-pool.js";
import { trainerPool } from "./processes/trainer-pool.js";
import { unavailableReason } from "./session.js";

export interface EmbeddedEngineSettings {
  models: BaseModelSettings;
  /**
   * Memory limit of all engine processes together, in bytes. Default: half of the memory of the machine or container.
   */
  memoryBytes?: number;
  /** Name of the setting that `memoryBytes` comes from, for errors. */
  memorySetting?: string;
  /** Maximum number of open trainers, one per running job. Default 1. Further trainers are rejected with `busy`. */
  trainingProcesses?: number;
  /**
   * Time that the process of a closed trainer is kept, with its memory, for the next trainer of the same model. Default
   * 5 minutes; 0 ends it immediately.
   */
  idleTrainerMs?: number;
  /** Rank of the widest adapters that will be trained, if it is above 64: their sequences are limited by memory. */
  adapterRank?: number;
  /** Memory for prompts that are kept for later requests. Default: half of that of running requests; 0 keeps none. */
  promptCacheBytes?: number | undefined;
  /** Threads per trainer. Default: one per core. The number affects the last bits of trained weights. */
  threads?: number;
  /** Threads for sampling from models of 50 million weights or more; smaller ones use one. Default: one per core. */
  samplingThreads?: number;
  /** A process without a heartbeat for this time is killed. Default 15 s. */
  heartbeatTimeoutMs?: number;
  /**
   * A process whose event loop is blocked for this time is killed. Default: 2 minutes plus 10 µs per parameter, which
   * is 10 more minutes for 60 million parameters. One pass over one batch takes less even on a slow core.
   */
  blockedTimeoutMs?: number;
  /** Receives one line per process event, and the stderr output of the processes. */
  log?: (line: string) => void;
}

/** Wider adapters are rare. */
const usualRank = 64;

/**
 * Fraction of the memory limit for sampling. The rest is for training, which needs about four times as much for the
 * same model.
 */
const samplingShare = 0.4;

/**
 * Opens the engine on the CPU of this machine: one process per open trainer, and one for sampling that starts with the
 * first request. If onnxruntime-node cannot be loaded, the engine still opens: `health` reports the reason, as does
 * each model.
 */
export async function openEmbeddedEngine(settings: EmbeddedEngineSettings): Promise<TrainingEngine> {
  const missing = await unavailableReason();
  return missing === undefined ? runningEngine(settings) : unavailableEngine(missing, settings.models);
}

function runningEngine(settings: EmbeddedEngineSettings): TrainingEngine {
  const { trainingProcesses = 1, threads = availableParallelism(), log = () => undefined } = settings;
  const { samplingThreads = availableParallelism() } = settings;
  const memoryBytes = settings.memoryBytes ?? Math.floor(machineMemory() / 2);
  const resources = {
    trainerBytes: (memoryBytes * (1 - samplingShare)) / trainingProcesses,
    samplerBytes: memoryBytes * samplingShare,
    threads,
    trainers: trainingProcesses,
    adapterRank: Math.max(usualRank, settings.adapterRank ?? 0),
  };
  const closing = new AbortController();
  const trainers = trainerPool({ maxProcesses: trainingProcesses, idleMs: settings.idleTrainerMs ?? 300_000 });

  /** Models whose error has been logged, with the logged message. */
  const reportedProblems = new Map<string, string>();

  const processOptions = (parameters: number) => ({
    limits: {
      heartbeatTimeoutMs: settings.heartbeatTimeoutMs ?? 15_000,
      blockedTimeoutMs: settings.blockedTimeoutMs ?? 120_000 + parameters / 100,
    },
    log,
  });

  async function startSampler(signal: AbortSignal): Promise<EngineProcess<SamplerMethods>> {
    const { models } = await listBaseModels(settings.models);
    const largest = Math.max(0, ...models.map(({ info }) => info.parameters));
    return openChild<SamplerOpening, SamplerMethods>(
      { ...processOptions(largest), entry: "sampler", title: "the sampling process", niceness: 0 },
      {
        models: settings.models,
        memoryBytes: resources.samplerBytes,
        memorySetting: settings.memorySetting,
        threads: samplingThreads,
        promptCacheBytes: settings.promptCacheBytes,
      },
      signal,
    );
  }

  async function describeTrainer(spec: TrainerSpec): Promise<TrainerRequest> {
    const described = await withLoc(["weights"], () => describeWeights(settings.models, spec.weights));
    const { base, config } = described;
    // As the port says of a model of which only an adapter can be trained.
    const fallback = spec.weights.checkpoint === undefined ? adapterIfNone(config, resources) : undefined;
    const requested = { ...spec, adapter: spec.adapter ?? fallback };
    const adapter = described.adapter ?? requested.adapter;
    requireTrainingMemory(config, adapter, resources.trainerBytes);
    const trainerOptions = {
      models: settings.models,
      spec: requested,
      memoryBytes: resources.trainerBytes,
      threads,
    };
    const start = (signal: AbortSignal) => openTrainerProcess(processOptions(base.parameters), trainerOptions, signal);
    return { trainerOptions, adapter, start };
  }

  async function usableModels(): Promise<{ models: BaseModelInfo[]; problems: BaseModelProblem[] }> {
    const listed = await listBaseModels(settings.models);
    const { models, problems } = withCapabilities(listed.models, resources);
    const all = [...listed.problems, ...problems];
    for (const { name, reason } of all) {
      if (reportedProblems.get(name) !== reason) log(`${name} cannot be used: ${reason}`);
      reportedProblems.set(name, reason);
    }
    return { models, problems: all };
  }

  const sampler = restartingSampler(startSampler, log);
  return {
    sampler: { ...sampler, unsupportedFields },
    async capabilities() {
      const { models, problems } = await usableModels();
      return { models, unavailableModels: problems };
    },
    async health() {
      const detail = sampler.failureReason();
      return detail === undefined ? { ok: true } : { ok: false, detail };
    },
    weightsDigest: (weights) => weightsDigest(settings.models, weights),
    adapterOf: (weights) => checkedAdapter(settings.models, weights),
    async openTrainer(spec, signal) {
      if (closing.signal.aborted) throw new HeddleError("aborted", "the engine is closed");
      const either = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal;
      return await trainers.open(() => describeTrainer(spec), either);
    },
    exportModel: (weights, { layout, format }, signal) => {
      const wanted = { layout, format: format === "f32" ? ("F32" as const) : ("BF16" as const) };
      return startExport({ settings: settings.models, weights, wanted }, signal);
    },
    writeUntrainedAdapter: (baseModel, adapter, directory) =>
      writeUntrainedAdapter(settings.models, { baseModel, adapter, directory }),
    deleteWeights: async () => undefined,
    async close() {
      closing.abort();
      await Promise.allSettled([sampler.close(), trainers.close()]);
    },
  };
}

/** A request field that needs a package which is not installed is not supported. */
function unsupportedFields(request: Partial<GenerateRequest>): (keyof GenerateRequest)[] {
  return request.structuredOutput && !structuredOutputsAvailable() ? ["structuredOutput"] : [];
}

/** Returns an engine that rejects every call with `unsupported` and the reason. */
function unavailableEngine(reason: string, settings: BaseModelSettings): TrainingEngine {
  const refuse = (): Promise<never> => Promise.reject(new HeddleError("unsupported", reason));
  return {
    async capabilities() {
      const { models, problems } = await listBaseModels(settings);
      const names = [...models.map(({ info }) => info.name), ...problems.map(({ name }) => name)];
      return { models: [], unavailableModels: names.map((name) => ({ name, reason })) };
    },
    health: async () => ({ ok: false, detail: reason }),
    weightsDigest: refuse,
    adapterOf: refuse,
    openTrainer: refuse,
    exportModel: refuse,
    writeUntrainedAdapter: refuse,
    deleteWeights: async () => undefined,
    sampler: { unsupportedFields, generate: refuse, preload: refuse, unload: refuse },
    close: async () => undefined,
  };
}
