import { availableParallelism, totalmem } from "node:os";
import { HeddleError, withLoc } from "@heddle/errors";
import { requireTrainingMemory } from "./model/memory.js";
import { structuredOutputsAvailable } from "@heddle/structured-outputs";
import { loraTargets } from "@heddle/training";
import type { BaseModelInfo, GenerateRequest, LoraConfig, TrainerSpec, TrainingEngine } from "@heddle/training";
import { maxRank } from "./model/lora-config.js";
import type { BaseModelSettings } from "./weights/base-models.js";
import { listBaseModels } from "./weights/base-models.js";
import { describeWeights, weightsDigest } from "./weights/load-weights.js";
import type { EngineProcess } from "./processes/child.js";
import { openChild } from "./processes/open-child.js";
import { restartingSampler } from "./processes/sampler-client.js";
import type { SamplerMethods, SamplerOpening } from "./processes/sampler-protocol.js";
import type { TrainerProcess } from "./processes/trainer-client.js";
import { openTrainerProcess } from "./processes/trainer-client.js";
import { unavailableReason } from "./session.js";

export interface EmbeddedEngineSettings {
  models: BaseModelSettings;
  /**
   * Memory limit of all engine processes together, in bytes. Default: half of the memory of the machine or container.
   */
  memoryBytes?: number;
  /** Maximum number of open trainers, one per running job. Default 1. Further trainers are rejected with `busy`. */
  trainingProcesses?: number;
  /** Threads per trainer. Default: one per core. The number affects the last bits of trained weights. */
  threads?: number;
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

/** Adapter on every projection, the usual shape for models of some billion weights. */
const defaultAdapter: LoraConfig = { rank: 8, alpha: 16, targets: [...loraTargets] };

/**
 * Fraction of the memory limit for sampling. The rest is for training, which needs about four times as much for the
 * same model.
 */
const samplingShare = 0.4;

/**
 * Opens the engine on the CPU of this machine: one process per open trainer, and one for sampling that starts with the
 * first request. If onnxruntime-node cannot be loaded, the engine still opens: `health` reports the reason and no
 * models are listed.
 */
export async function openEmbeddedEngine(settings: EmbeddedEngineSettings): Promise<TrainingEngine> {
  const missing = await unavailableReason();
  return missing === undefined ? runningEngine(settings) : unavailableEngine(missing);
}

function runningEngine(settings: EmbeddedEngineSettings): TrainingEngine {
  const { trainingProcesses = 1, threads = availableParallelism(), log = () => undefined } = settings;
  const memoryBytes = settings.memoryBytes ?? Math.floor(availableMemory() / 2);
  const closing = new AbortController();
  /** Trainers that are open or being opened. */
  const trainers = new Set<Promise<TrainerProcess>>();

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
    const largest = Math.max(0, ...models.map(({ parameters }) => parameters));
    return openChild<SamplerOpening, SamplerMethods>(
      { ...processOptions(largest), entry: "sampler", title: "the sampling process", niceness: 0 },
      { models: settings.models, memoryBytes: memoryBytes * samplingShare },
      signal,
    );
  }

  async function startTrainer(spec: TrainerSpec, signal: AbortSignal): Promise<TrainerProcess> {
    const { base, config, adapter } = await withLoc(["weights"], () => describeWeights(settings.models, spec.weights));
    const share = (memoryBytes * (1 - samplingShare)) / trainingProcesses;
    requireTrainingMemory(config, adapter ?? spec.adapter, share);
    const opening = { models: settings.models, spec, memoryBytes: share, workers: threads };
    return openTrainerProcess(processOptions(base.parameters), opening, signal);
  }

  function withCapabilities(model: BaseModelInfo): BaseModelInfo {
    const { contextLength } = model;
    return {
      ...model,
      training: {
        objectives: ["cross_entropy", "policy"],
        fullFineTuning: true,
        lora: { default: defaultAdapter, maxRank, selectableTargets: true },
        gradientClipping: true,
        entropies: true,
        maxSequenceTokens: contextLength,
        maxOpenTrainers: trainingProcesses,
      },
      sampling: { contextLength, fullWeights: true },
    };
  }

  const sampler = restartingSampler(startSampler, log);
  return {
    sampler: { ...sampler, unsupportedFields },
    async capabilities() {
      const { models, problems } = await listBaseModels(settings.models);
      for (const { name, message } of problems) {
        if (reportedProblems.get(name) !== message) log(`${name} cannot be used: ${message}`);
        reportedProblems.set(name, message);
      }
      return { models: models.map(withCapabilities) };
    },
    async health() {
      const detail = sampler.failureReason();
      return detail === undefined ? { ok: true } : { ok: false, detail };
    },
    weightsDigest: (weights) => weightsDigest(settings.models, weights),
    async openTrainer(spec, signal) {
      if (closing.signal.aborted) throw new HeddleError("aborted", "the engine is closed");
      if (trainers.size >= trainingProcesses) {
        const open = `${trainingProcesses} of ${trainingProcesses}`;
        throw new HeddleError("busy", `${open} trainers are open; close one before opening another`);
      }
      const started = startTrainer(spec, signal ? AbortSignal.any([signal, closing.signal]) : closing.signal);
      trainers.add(started);
      const remove = (): boolean => trainers.delete(started);
      started.then(({ exited }) => exited.then(remove), remove);
      const { trainer } = await started;
      return trainer;
    },
    deleteWeights: async () => undefined,
    async close() {
      closing.abort();
      const open = [...trainers].map(async (started) => (await started).trainer.close());
      await Promise.allSettled([sampler.close(), ...open]);
    },
  };
}

/** A request field that needs a package which is not installed is not supported. */
function unsupportedFields(request: Partial<GenerateRequest>): (keyof GenerateRequest)[] {
  return request.structuredOutput && !structuredOutputsAvailable() ? ["structuredOutput"] : [];
}

/** Returns an engine that rejects every call with `unsupported` and the reason. */
function unavailableEngine(reason: string): TrainingEngine {
  const refuse = (): Promise<never> => Promise.reject(new HeddleError("unsupported", reason));
  return {
    capabilities: async () => ({ models: [] }),
    health: async () => ({ ok: false, detail: reason }),
    weightsDigest: refuse,
    openTrainer: refuse,
    deleteWeights: async () => undefined,
    sampler: { unsupportedFields, generate: refuse, preload: refuse, unload: refuse },
    close: async () => undefined,
  };
}

/** Memory of the container if it has a limit, else of the machine, in bytes. */
function availableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
