import { stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { HeddleError, mapErrors } from "@heddle/errors";
import type { ModelConfig } from "../model/config.js";
import { modelParameters, parameterCount } from "../model/parameters.js";
import { presets } from "../model/presets.js";
import type { BaseModelInfo, BaseModelName } from "@heddle/training";
import { ifExists, readJsonFile, withFileErrors } from "@heddle/durable-files";
import { checkModelFiles } from "./check-model-files.js";
import { initialWeights } from "./initial-weights.js";
import type { ModelWeights } from "./model-directory.js";
import { loadModel, readModelConfig } from "./model-directory.js";
import { findTensors } from "./sharded-tensors.js";
import { modelDigest, randomDigest } from "./weights-digest.js";

/** Sent to the processes of the engine, hence JSON. */
export interface BaseModelSettings {
  /** Absolute Hugging Face directories by alias: `dir:<alias>`. Written by the operator, never by a client. */
  directories?: Record<string, string>;
  /**
   * Names or paths by base model, with which other programs find it; an exported adapter names its base so. Default:
   * the repository that the `config.json` of the model names, else the name of the base model.
   */
  exportNames?: Record<BaseModelName, string>;
}

/** Of a model on this machine, the number of weights is known. */
export type LocalModelInfo = BaseModelInfo & { parameters: number };

export interface BaseModel {
  info: LocalModelInfo;
  config: ModelConfig;
}

/** A model of the settings that cannot be used. */
export interface BaseModelProblem {
  name: BaseModelName;
  reason: string;
}

/** Seed of `random:*` models: every process derives the same weights from the name. */
const randomSeed = 1;

const starter = "heddle/starter";
const starterDirectory = fileURLToPath(new URL("../../models/starter", import.meta.url));

/**
 * Lists the base models, and those that cannot be loaded. Reads their configurations, tokenizers and the headers of
 * their tensors; see `checkModelFiles`.
 */
export async function listBaseModels(
  settings: BaseModelSettings,
): Promise<{ models: BaseModel[]; problems: BaseModelProblem[] }> {
  const aliases = Object.keys(settings.directories ?? {});
  const names = [
    starter,
    ...[...presets.keys()].map((preset) => `random:${preset}`),
    ...aliases.map((each) => `dir:${each}`),
  ];
  const models: BaseModel[] = [];
  const problems: BaseModelProblem[] = [];
  for (const name of names) {
    try {
      const location = locate(settings, name);
      const model = await withFileErrors("it could not be read", () => describe(name, location));
      if (!location.preset)
        await withFileErrors("it could not be read", () => checkModelFiles(location.directory, model.config));
      models.push(model);
    } catch (error) {
      problems.push({ name, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { models, problems };
}

/**
 * Describes a base model.
 *
 * @throws HeddleError `not_found` for an unknown name, with the loc `baseModel`; `invalid` or `unsupported` for a directory that
 *   cannot be used.
 */
export async function describeBaseModel(settings: BaseModelSettings, name: BaseModelName): Promise<BaseModel> {
  const location = locate(settings, name);
  return withModelName(name, () => describe(name, location));
}

/** Loads the weights of a base model as f32. */
export async function loadBaseModel(settings: BaseModelSettings, name: BaseModelName): Promise<ModelWeights> {
  const { directory, preset } = locate(settings, name);
  if (preset) return { config: preset, weights: initialWeights(preset, randomSeed) };
  return withModelName(name, () => loadModel(directory));
}

/** Returns the digest of a base model's weights. The first call reads them; see `fileDigest`. */
export async function baseModelDigest(settings: BaseModelSettings, name: BaseModelName): Promise<string> {
  const { directory, preset } = locate(settings, name);
  if (preset) return randomDigest(preset, randomSeed);
  return withModelName(name, async () => modelDigest(directory, await readModelConfig(directory)));
}

/** Returns the name of a base model for other programs; see `exportNames`. */
export async function exportName(settings: BaseModelSettings, name: BaseModelName): Promise<string> {
  const { exportNames = {} } = settings;
  const configured = Object.hasOwn(exportNames, name) ? exportNames[name] : undefined;
  if (configured !== undefined) return configured;
  const { directory, preset } = locate(settings, name);
  const repository = preset ? undefined : (await readJsonFile(directory, "config.json"))["_name_or_path"];
  // A path of the machine that wrote the file has no meaning elsewhere.
  return isRepository(repository) ? repository : name;
}

/** Whether a name is that of a repository of models, and no path. */
export function isRepository(name: unknown): name is string {
  return typeof name === "string" && /^[\w.-]+\/[\w.-]+$/u.test(name);
}

interface ModelLocation {
  directory: string;
  /** The shape of random weights. Their directory has only the tokenizer and the chat template. */
  preset?: ModelConfig;
}

async function describe(name: BaseModelName, { directory, preset }: ModelLocation): Promise<BaseModel> {
  if (!preset) await requireModel(directory);
  // Read for a preset as well, which needs the tokenizer in the directory.
  const found = await readModelConfig(directory);
  const config = preset ?? found;
  const info = {
    name,
    parameters: parameterCount(modelParameters(config)),
    vocabularySize: config.vocabularySize,
    contextLength: config.contextLength,
    directory,
  };
  return { info, config };
}

/** Checks that a directory has the tensors of a model. */
async function requireModel(directory: string): Promise<void> {
  try {
    await findTensors(directory, "model");
  } catch (error) {
    if (!(await ifExists(stat(join(directory, "adapter_config.json"))))) throw error;
    const message =
      "the directory is an adapter, not a model: it has adapter_config.json and no model.safetensors; upload it as an artifact to begin a model with it";
    throw new HeddleError("unsupported", message, { details: { file: "adapter_config.json" } });
  }
}

function locate(settings: BaseModelSettings, name: BaseModelName): ModelLocation {
  if (name === starter) return { directory: starterDirectory };
  const [, scheme, rest = ""] = /^(random|dir):(.+)$/su.exec(name) ?? [];
  if (scheme === "random") {
    const preset = presets.get(rest);
    if (preset) return { directory: starterDirectory, preset };
    throw unknown(name, `presets are ${[...presets.keys()].join(", ")}`);
  }
  const directories = settings.directories ?? {};
  const directory = scheme === "dir" && Object.hasOwn(directories, rest) ? directories[rest] : undefined;
  if (directory === undefined) throw unknown(name, `there are ${starter}, random:<preset> and dir:<alias>`);
  if (!isAbsolute(directory)) throw new HeddleError("invalid", `the directory of ${name} must be an absolute path`);
  return { directory: resolve(directory) };
}

function unknown(name: string, hint: string): HeddleError {
  return new HeddleError("not_found", `there is no base model ${JSON.stringify(name.slice(0, 100))}; ${hint}`, {
    loc: ["baseModel"],
  });
}

/** Adds the name of the model to errors about its directory. */
async function withModelName<T>(name: BaseModelName, read: () => Promise<T>): Promise<T> {
  const named = (error: HeddleError) => error.with({ message: `${name}: ${error.message}` });
  return await mapErrors(named, () => withFileErrors("the model could not be read", read));
}
