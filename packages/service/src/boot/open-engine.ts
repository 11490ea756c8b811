import { readdirSync, statSync } from "node:fs";
import { join, posix, relative, sep } from "node:path";
import { isMissing } from "@heddle/durable-files";
import { openEmbeddedEngine, unavailableReason } from "@heddle/embedded-engine";
import type { UrlSignatures } from "@heddle/control-plane";
import { openTinkerTrainers, openVllmSampler } from "@heddle/remote-engine";
import type { VllmSettings } from "@heddle/remote-engine";
import { composeEngine } from "@heddle/training";
import type { TrainingEngine } from "@heddle/training";
import { adapterRepository, adaptersPath } from "../checkpoints/adapter-addresses.js";
import type { Config } from "../config/config.js";

/**
 * Opens what trains and samples: the embedded engine, and servers for the models that are configured for them. Processes
 * start, and servers are called, with the first request that needs them.
 */
export async function openTrainingEngine(
  config: Config,
  signatures: UrlSignatures,
  log: (line: string) => void,
): Promise<TrainingEngine> {
  const { modelsDir, trainingMemoryBytes, trainingConcurrency, remoteEngine, dataDir } = config;
  const { trainerUrl, trainerKey, inferenceUrl, inferenceKey, inferenceDataDir, inferenceAdapters, models } =
    remoteEngine;
  const embedded = await openEmbeddedEngine({
    models: { directories: modelDirectories(modelsDir) },
    memoryBytes: trainingMemoryBytes,
    memorySetting: "HEDDLE_TRAINING_MEMORY",
    trainingProcesses: trainingConcurrency,
    adapterRank: config.loraRank,
    promptCacheBytes: config.promptCacheBytes,
    log,
  });
  const trainers =
    trainerUrl === undefined ? [] : [openTinkerTrainers({ url: trainerUrl, apiKey: trainerKey, models })];
  const serverPath = (directory: string) => posix.join(inferenceDataDir, ...relative(dataDir, directory).split(sep));
  const hub = inferenceAdapters === undefined ? undefined : adapterHub(inferenceAdapters, signatures);
  const samplers =
    inferenceUrl === undefined
      ? []
      : [openVllmSampler({ url: inferenceUrl, apiKey: inferenceKey, models, serverPath, hub })];
  if (trainers.length === 0 && samplers.length === 0) return embedded;
  return composeEngine({ trainers: [...trainers, embedded], samplers: [...samplers, embedded] });
}

function adapterHub(url: string, signatures: UrlSignatures): VllmSettings["hub"] {
  return {
    url: `${url.endsWith("/") ? url.slice(0, -1) : url}${adaptersPath}`,
    repositoryOf: (directory) => adapterRepository(signatures, directory),
  };
}

/** Why nothing can be trained by this service, and the remedy; undefined where something can. */
export async function whyNotTrained({ remoteEngine }: Config): Promise<string | undefined> {
  return remoteEngine.trainerUrl === undefined ? await unavailableReason() : undefined;
}

/** The directories in the directory of models, by their names. */
function modelDirectories(modelsDir: string): Record<string, string> {
  const directories = entriesOf(modelsDir).map((name): [string, string] => [name, join(modelsDir, name)]);
  return Object.fromEntries(directories.filter(([, path]) => statSync(path).isDirectory()));
}

/** A directory of models that does not exist holds none. */
function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
