import { lstat, mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";
import { HeddleError } from "@heddle/errors";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import { adapterParameters, modelParameters } from "../model/parameters.js";
import type { Adapter } from "./adapter.js";
import { readAdapter, writeAdapter } from "./adapter.js";
import { ifExists, makeDurableDirectory, syncDirectory, withFileErrors, writeDurableFile } from "@heddle/durable-files";
import { loadModel, writeModel } from "./model-directory.js";
import type { OptimizerState } from "./optimizer-file.js";
import { readOptimizer, writeOptimizer } from "./optimizer-file.js";
import { claimPartialName, removeLeftovers } from "./partial-directories.js";
import type { TrainingState } from "./training-state.js";
import { readTrainingState, stateFile, trainingStateJson, verifyFiles } from "./training-state.js";
import { weightFiles } from "@heddle/training";

export interface CheckpointSource {
  baseModel: string;
  /** Digest of the base model; see `weights-digest.ts`. */
  baseDigest: string;
  /** Name or path of the base model for other programs, written with an adapter. Default: `baseModel`. */
  baseName?: string;
  /** Format of the weights. Default: F32, which resumes training with the same bits. */
  dtype?: "F32" | "BF16";
  /** Directory of the base model. Its tokenizer and template are copied with full weights. */
  baseDirectory: string;
  config: ModelConfig;
  /** Seed that the trainer was opened with. */
  seed: number;
  /** The trained parameters: all weights or an adapter. */
  trained: { weights: ParameterSet } | { adapter: Adapter };
  /** Optimizer steps so far. */
  steps: number;
  optimizer?: OptimizerState;
}

/**
 * Writes a checkpoint: a Hugging Face directory or a PEFT one, with `training_state.json` and, when given,
 * `optimizer.safetensors`. Writes atomically: all files are written and synced in a temporary directory of the same
 * parent, which is then renamed. Removes temporary directories of crashed writers from the parent.
 *
 * @param directory absolute; must not exist. Missing parents are created.
 * @returns the contents of `training_state.json`.
 * @throws HeddleError `conflict` when the directory exists, `failed` for an error of the file system.
 */
export async function writeCheckpoint(directory: string, source: CheckpointSource): Promise<TrainingState> {
  if (!isAbsolute(directory)) {
    throw new HeddleError("invalid", "a checkpoint's directory must be absolute", { loc: ["directory"] });
  }
  return withFileErrors("the checkpoint could not be written", async () => {
    if (await ifExists(lstat(directory))) throw alreadyExists(directory);
    const parent = dirname(directory);
    await makeDurableDirectory(parent);
    await removeLeftovers(parent);
    const partial = claimPartialName(directory);
    try {
      const state = await writeFiles(partial.path, source);
      await syncDirectory(partial.path);
      await rename(partial.path, directory).catch((error: NodeJS.ErrnoException) => {
        const isTaken = error.code === "ENOTEMPTY" || error.code === "EEXIST";
        throw isTaken ? alreadyExists(directory) : error;
      });
      await syncDirectory(parent);
      return state;
    } catch (error) {
      await rm(partial.path, { recursive: true, force: true }).catch(() => undefined);
      throw error;
    } finally {
      partial.release();
    }
  });
}

export interface Checkpoint {
  state: TrainingState;
  config: ModelConfig;
  trained: { weights: ParameterSet } | { adapter: Adapter };
  optimizer?: OptimizerState;
}

/**
 * Reads a checkpoint after comparing its files with their recorded sizes and digests.
 *
 * @param base shape of the base model of an adapter.
 * @param options.optimizer read the optimizer state when the checkpoint has one.
 * @throws HeddleError `not_found` when there is no checkpoint, `corrupt` when its files are not those that were written,
 *   `incompatible` for a newer format, `invalid` when it does not fit the base model; each names the file.
 */
export async function readCheckpoint(
  directory: string,
  base: ModelConfig,
  options: { optimizer?: boolean } = {},
): Promise<Checkpoint> {
  return withFileErrors("the checkpoint could not be read", async () => {
    const state = await readTrainingState(directory);
    const wantsOptimizer = options.optimizer === true && state.files.has(optimizerFile);
    const listed = [...state.files.keys()].filter((name) => wantsOptimizer || name !== optimizerFile);
    // Weights are verified also if the state does not list them.
    await verifyFiles(directory, state, new Set([...weightFiles[state.training], ...listed]));
    const { config, trained, parameters } = await readTrained(directory, state, base);
    const optimizer = wantsOptimizer ? await readOptimizer(directory, parameters, state.steps) : undefined;
    return { state, config, trained, optimizer };
  });
}

const optimizerFile = "optimizer.safetensors";

async function readTrained(directory: string, state: TrainingState, base: ModelConfig) {
  if (state.training === "full") {
    const { config, weights } = await loadModel(directory);
    return { config, trained: { weights }, parameters: weights.parameters };
  }
  const adapter = await readAdapter(directory, base);
  return { config: base, trained: { adapter }, parameters: adapter.set.parameters };
}

async function writeFiles(directory: string, source: CheckpointSource): Promise<TrainingState> {
  const {
    baseModel,
    baseDigest,
    baseName,
    baseDirectory,
    dtype = "F32",
    config,
    trained,
    optimizer,
    seed,
    steps,
  } = source;
  await mkdir(directory);
  const isFull = "weights" in trained;
  const files = isFull
    ? await writeModel(directory, { config, weights: trained.weights }, { dtype, base: baseDirectory })
    : await writeAdapter(directory, trained.adapter, { model: config, baseModel: baseName ?? baseModel, dtype });
  if (optimizer) {
    const parameters = isFull ? modelParameters(config) : adapterParameters(config, trained.adapter.config);
    files.set(optimizerFile, await writeOptimizer(join(directory, optimizerFile), parameters, optimizer));
  }
  const training = isFull ? "full" : "adapter";
  const base = { name: baseModel, digest: baseDigest };
  const state: TrainingState = { base, training, steps, seed, files };
  await writeDurableFile(join(directory, stateFile), trainingStateJson(state));
  return state;
}

function alreadyExists(directory: string): HeddleError {
  return new HeddleError("conflict", `the checkpoint ${basename(directory)} already exists`, { loc: ["directory"] });
}
