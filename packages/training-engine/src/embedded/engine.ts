import { createRequire } from "node:module";
import { availableParallelism, totalmem } from "node:os";
import { EngineError } from "../engine-error.js";
import { requireTrainingMemory } from "../model/memory.js";
import type { TrainingEngine, SamplingFeature, TrainerSpec } from "../port.js";
import type { BaseModelSettings } from "../weights/base-models.js";
import { listBaseModels } from "../weights/base-models.js";
import { describeWeights } from "../weights/load-weights.js";
import type { Child } from "./processes/child.js";
import { openChild } from "./processes/open-child.js";
import { restartingSampler } from "./processes/sampler-client.js";
import type { SamplerMethods, SamplerOpening } from "./processes/sampler-protocol.js";
import type { TrainerProcess } from "./processes/trainer-client.js";
import { openTrainerProcess } from "./processes/trainer-client.js";
import { unavailableReason } from "./session.js";

export interface EmbeddedEngineSettings {
  models: BaseModelSettings;
  /** Memory of all processes of the engine together; default: half of what the machine or its container has. */
  memoryBytes?: number;
  /** Trainers that may be open at once, one for each job that runs; default 1. Another is turned away with `busy`. */
  trainingProcesses?: number;
  /** Threads that one trainer may use; default: one for each core. Their number decides the last bits of trained weights. */
  threads?: number;
  /** A process without a sign of life for so long is killed; default 15 s. */
  heartbeatTimeoutMs?: number;
  /**
   * A process stuck in one computation for so long is killed; default: two minutes, and ten more for a model of 60 million
   * parameters (10 µs for each). One pass over one batch takes less even on a slow core.
   */
  blockedTimeoutMs?: number;
  /** Gets one line for each thing that happens, and what the processes write to stderr. */
  log?: (line: string) => void;
}

const baseFeatures: SamplingFeature[] = [
  "penalties",
  "logit_bias",
  "allowed_token_ids",
  "bad_words",
  "min_p",
  "min_tokens",
  "stop",
  "prompt_logprobs",
  "top_logprobs",
  "beam_search",
  "repetition_detection",
];

/** Of the memory of the engine; the rest is for training, which needs about four times as much for the same model. */
const samplingShare = 0.4;

/**
 * The engine on this machine's CPU: a process for each open trainer, and one for sampling that starts with the first
 * request. It opens also where onnxruntime-node cannot run; `health` then says why, and there are no models.
 */
export async function openEmbeddedEngine(settings: EmbeddedEngineSettings): Promise<TrainingEngine> {
  const missing = await unavailableReason();
  return missing === undefined ? runningEngine(settings) : unavailableEngine(missing);
}

function runningEngine(settings: EmbeddedEngineSettings): TrainingEngine {
  const { trainingProcesses = 1, threads = availableParallelism(), log = () => undefined } = settings;
  const memoryBytes = settings.memoryBytes ?? Math.floor(availableMemory() / 2);
  const closing = new AbortController();
  /** Open ones, and those on their way. */
  const trainers = new Set<Promise<TrainerProcess>>();

  /** Models of which the log says already why they cannot be used. */
  const reportedProblems = new Map<string, string>();

  const processOptions = (parameters: number) => ({
    limits: {
      heartbeatTimeoutMs: settings.heartbeatTimeoutMs ?? 15_000,
      blockedTimeoutMs: settings.blockedTimeoutMs ?? 120_000 + parameters / 100,
    },
    log,
  });

  async function startSampler(signal: AbortSignal): Promise<Child<SamplerMethods>> {
    const { models } = await listBaseModels(settings.models);
    const largest = Math.max(0, ...models.map(({ parameters }) => parameters));
    return openChild<SamplerOpening, SamplerMethods>(
      { ...processOptions(largest), entry: "sampler", title: "the sampling process", niceness: 0 },
      { models: settings.models, memoryBytes: memoryBytes * samplingShare },
      signal,
    );
  }

  async function startTrainer(spec: TrainerSpec, signal: AbortSignal): Promise<TrainerProcess> {
    const { base, config, adapter } = await describeWeights(settings.models, spec.weights);
    const share = (memoryBytes * (1 - samplingShare)) / trainingProcesses;
    requireTrainingMemory(config, adapter ?? spec.adapter, share);
    const opening = { models: settings.models, spec, memoryBytes: share, workers: threads };
    return openTrainerProcess(processOptions(base.parameters), opening, signal);
  }

  const sampler = restartingSampler(startSampler, log);
  return {
    kind: "embedded",
    sampler,
    async capabilities() {
      const { models, problems } = await listBaseModels(settings.models);
      for (const { name, message } of problems) {
        if (reportedProblems.get(name) !== message) log(`${name} cannot be used: ${message}`);
        reportedProblems.set(name, message);
      }
      return { models, fullFineTuning: true, adapters: true, sampling: samplingFeatures() };
    },
    async health() {
      const detail = sampler.failureReason();
      return detail === undefined ? { ok: true } : { ok: false, detail };
    },
    async openTrainer(spec, signal) {
      if (closing.signal.aborted) throw new EngineError("aborted", "the engine was closed");
      if (trainers.size >= trainingProcesses) {
        const most = `${trainingProcesses} of ${trainingProcesses}`;
        throw new EngineError("busy", `${most} trainers are open; another can be opened when one is closed`);
      }
      const started = startTrainer(spec, signal ? AbortSignal.any([signal, closing.signal]) : closing.signal);
      trainers.add(started);
      const remove = (): boolean => trainers.delete(started);
      started.then(({ exited }) => exited.then(remove), remove);
      const { trainer } = await started;
      return trainer;
    },
    async close() {
      closing.abort();
      const open = [...trainers].map(async (started) => (await started).trainer.close());
      await Promise.allSettled([sampler.close(), ...open]);
    },
  };
}

/** All of them; structured outputs stand on an optional package. */
function samplingFeatures(): SamplingFeature[] {
  try {
    createRequire(import.meta.url).resolve("@mlc-ai/web-xgrammar");
    return [...baseFeatures, "structured_outputs"];
  } catch {
    return [...baseFeatures];
  }
}

/** An engine that only says why it is none. */
function unavailableEngine(reason: string): TrainingEngine {
  const refuse = (): Promise<never> => Promise.reject(new EngineError("unsupported", reason));
  return {
    kind: "embedded",
    capabilities: async () => ({ models: [], fullFineTuning: false, adapters: false, sampling: [] }),
    health: async () => ({ ok: false, detail: reason }),
    openTrainer: refuse,
    sampler: { generate: refuse, preload: refuse, unload: refuse },
    close: async () => undefined,
  };
}

/** A container's limit counts, where there is one. */
function availableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
