import { isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { EngineError } from "../engine-error.js";
import type { ModelConfig } from "../model/config.js";
import { modelParameters, parameterCount } from "../model/parameters.js";
import { presets } from "../model/presets.js";
import type { BaseModelInfo, BaseModelName } from "../port.js";
import { withFileErrors } from "./file-errors.js";
import { initialWeights } from "./initial-weights.js";
import type { ModelWeights } from "./model-directory.js";
import { loadModel, readModelConfig } from "./model-directory.js";
import { findTensors } from "./sharded-tensors.js";

/** Plain data: it is handed to the processes of the engine. */
export interface BaseModelSettings {
  /** Absolute Hugging Face directories by alias: `dir:<alias>`. Written by the operator, never by a client. */
  directories?: Record<string, string>;
}

export interface BaseModel {
  info: BaseModelInfo;
  config: ModelConfig;
}

/** A model that was named in the settings but cannot be used, and why. */
export interface BaseModelProblem {
  name: BaseModelName;
  message: string;
}

/** Of `random:*`: the name alone says which weights are meant, wherever they are needed. */
const randomSeed = 1;

const starter = "heddle/starter";
const starterDirectory = fileURLToPath(new URL("../../models/starter", import.meta.url));

/** Every base model that there is now, and those that are broken. Reads their configurations, not their weights. */
export async function listBaseModels(
  settings: BaseModelSettings,
): Promise<{ models: BaseModelInfo[]; problems: BaseModelProblem[] }> {
  const aliases = Object.keys(settings.directories ?? {});
  const names = [
    starter,
    ...[...presets.keys()].map((preset) => `random:${preset}`),
    ...aliases.map((each) => `dir:${each}`),
  ];
  const models: BaseModelInfo[] = [];
  const problems: BaseModelProblem[] = [];
  for (const name of names) {
    try {
      models.push((await describe(name, locate(settings, name))).info);
    } catch (error) {
      problems.push({ name, message: error instanceof Error ? error.message : String(error) });
    }
  }
  return { models, problems };
}

/** @throws EngineError `not_found` for a name that stands for nothing, `invalid` or `unsupported` for a broken directory. */
export async function describeBaseModel(settings: BaseModelSettings, name: BaseModelName): Promise<BaseModel> {
  const location = locate(settings, name);
  return withModelName(name, () => describe(name, location));
}

/** Its weights, in the memory that they need in f32. */
export async function loadBaseModel(settings: BaseModelSettings, name: BaseModelName): Promise<ModelWeights> {
  const { directory, preset } = locate(settings, name);
  if (preset) return { config: preset, weights: initialWeights(preset, randomSeed) };
  return withModelName(name, () => loadModel(directory));
}

interface ModelLocation {
  directory: string;
  /** The shape of random weights, which have only their text side in the directory. */
  preset?: ModelConfig;
}

async function describe(name: BaseModelName, { directory, preset }: ModelLocation): Promise<BaseModel> {
  if (!preset) await findTensors(directory, "model");
  // Read for a preset as well: where the starter is missing, so is the preset's tokenizer.
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
  if (!isAbsolute(directory))
    throw new EngineError("invalid", `the directory of ${name} must be an absolute path`, name);
  return { directory: resolve(directory) };
}

function unknown(name: string, hint: string): EngineError {
  return new EngineError(
    "not_found",
    `there is no base model ${JSON.stringify(name.slice(0, 100))}; ${hint}`,
    "base_model",
  );
}

/** Says of which model an error in a directory speaks. */
async function withModelName<T>(name: BaseModelName, read: () => Promise<T>): Promise<T> {
  try {
    return await withFileErrors("the model could not be read", read);
  } catch (error) {
    throw error instanceof EngineError ? new EngineError(error.code, `${name}: ${error.message}`, error.path) : error;
  }
}
