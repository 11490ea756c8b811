import type { LoraConfig, WeightsRef } from "@heddle/training";
import { readJsonFile } from "@heddle/durable-files";
import { HeddleError } from "@heddle/errors";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import type { Adapter } from "./adapter.js";
import { checkAdapter, readAdapterConfig } from "./adapter.js";
import type { BaseModelSettings, LocalModelInfo } from "./base-models.js";
import { baseModelDigest, describeBaseModel, exportName, isRepository, loadBaseModel } from "./base-models.js";
import { readCheckpoint } from "./checkpoint.js";
import type { ModelWeights } from "./model-directory.js";
import { readModelConfig } from "./model-directory.js";
import type { OptimizerState } from "./optimizer-file.js";
import type { TrainingState } from "./training-state.js";
import { readTrainingState } from "./training-state.js";
import { checkpointDigest } from "@heddle/training";

/** Properties of weights that are known without loading them, from which the required memory is computed. */
export interface WeightsDescription {
  /** The base model. Its directory has the tokenizer and the chat template. */
  base: LocalModelInfo;
  config: ModelConfig;
  /** Present for a checkpoint of an adapter. */
  adapter?: LoraConfig;
}

export interface LoadedWeights {
  base: LocalModelInfo;
  /** Digest of the base model's weights. */
  baseDigest: string;
  /** Digest of these weights. */
  digest: string;
  config: ModelConfig;
  /** Weights of the base model, or the trained ones of a checkpoint of full weights. */
  weights: ParameterSet;
  /** Present for a checkpoint of an adapter. */
  adapter?: Adapter;
  /** Present if it was requested and the checkpoint has one. */
  optimizer?: OptimizerState;
}

/**
 * Describes the weights of a reference.
 *
 * @throws HeddleError `not_found`, `invalid` or `unsupported`, with the file and field at fault, or with a loc relative to `ref`.
 */
export async function describeWeights(settings: BaseModelSettings, ref: WeightsRef): Promise<WeightsDescription> {
  const { info: base, config } = await describeBaseModel(settings, ref.baseModel);
  if (ref.checkpoint === undefined) return { base, config };
  const { training } = await readMatchingState(ref.checkpoint, ref.baseModel);
  if (training === "full") return { base, config: await readModelConfig(ref.checkpoint) };
  return { base, config, adapter: await readAdapterConfig(ref.checkpoint, config) };
}

/**
 * Returns the identity of the weights of a reference by content. The first call reads a base model's files.
 *
 * @throws HeddleError as `describeWeights`; `conflict` when the weights are not those of `ref.digest`, or are an adapter and
 *   its base model has changed since it was trained.
 */
export async function weightsDigest(settings: BaseModelSettings, ref: WeightsRef): Promise<string> {
  const baseDigest = await baseModelDigest(settings, ref.baseModel);
  if (ref.checkpoint === undefined) return expected(ref, baseDigest);
  return expected(
    ref,
    checkpointDigest(await readMatchingState(ref.checkpoint, ref.baseModel, baseDigest), baseDigest),
  );
}

/**
 * Returns the shape of the adapter of a checkpoint, after checking that it is one of the base model; undefined for full
 * weights. Reads no numbers.
 *
 * @throws HeddleError as `weightsDigest`; naming the file and the field or tensor that does not fit.
 */
export async function checkedAdapter(settings: BaseModelSettings, ref: WeightsRef): Promise<LoraConfig | undefined> {
  const { checkpoint, baseModel } = ref;
  if (checkpoint === undefined) return undefined;
  const { config } = await describeBaseModel(settings, baseModel);
  const { base, training } = await readMatchingState(checkpoint, baseModel, await baseModelDigest(settings, baseModel));
  if (training === "full") {
    await readModelConfig(checkpoint);
    return undefined;
  }
  if (base === undefined) await checkBaseName(checkpoint, await exportName(settings, baseModel));
  return await checkAdapter(checkpoint, config);
}

/** Of an adapter that another program made. Other names than those of repositories say nothing, such as paths. */
async function checkBaseName(directory: string, expectedName: string): Promise<void> {
  const { base_model_name_or_path: named } = await readJsonFile(directory, "adapter_config.json");
  if (!isRepository(named) || !isRepository(expectedName) || named === expectedName) return;
  const what = `adapter_config.json: base_model_name_or_path is ${named}; the adapter is not one of ${expectedName}`;
  throw new HeddleError("invalid", what, { details: { file: "adapter_config.json" } });
}

/**
 * Loads the weights of a reference and validates them; see `readCheckpoint` and `loadModel`.
 *
 * @param options.optimizer read the optimizer state as well.
 * @throws HeddleError `not_found`, `invalid`, `corrupt`, `unsupported`, `incompatible` or `conflict`; see `weightsDigest`.
 */
export async function loadWeights(
  settings: BaseModelSettings,
  ref: WeightsRef,
  options: { optimizer?: boolean } = {},
): Promise<LoadedWeights> {
  const { info: base, config } = await describeBaseModel(settings, ref.baseModel);
  const baseDigest = await baseModelDigest(settings, ref.baseModel);
  if (ref.checkpoint === undefined) {
    const digest = expected(ref, baseDigest);
    return { base, baseDigest, digest, ...(await loadUnchanged(settings, ref.baseModel, baseDigest)) };
  }
  await readMatchingState(ref.checkpoint, ref.baseModel, baseDigest);
  const { state, trained, optimizer, ...read } = await readCheckpoint(ref.checkpoint, config, options);
  const digest = expected(ref, checkpointDigest(state, baseDigest));
  const common = { base, baseDigest, digest, optimizer };
  if ("weights" in trained) return { ...common, config: read.config, weights: trained.weights };
  const { weights } = await loadUnchanged(settings, ref.baseModel, baseDigest);
  return { ...common, config, weights, adapter: trained.adapter };
}

/** Loads a base model. Throws `conflict` if its files are not those of the digest when it has been read. */
async function loadUnchanged(settings: BaseModelSettings, name: string, digest: string): Promise<ModelWeights> {
  const loaded = await loadBaseModel(settings, name);
  if ((await baseModelDigest(settings, name)) === digest) return loaded;
  throw new HeddleError("conflict", `${name} changed while it was read; try again`, { loc: ["baseModel"] });
}

function expected(ref: WeightsRef, digest: string): string {
  if (ref.digest === undefined || ref.digest === digest) return digest;
  const which = ref.checkpoint === undefined ? ref.baseModel : "the checkpoint";
  throw new HeddleError("conflict", `${which} has the digest ${digest}, not ${ref.digest}: its weights were replaced`, {
    loc: ["digest"],
  });
}

async function readMatchingState(checkpoint: string, baseModel: string, baseDigest?: string): Promise<TrainingState> {
  const state = await readTrainingState(checkpoint);
  const { base, training } = state;
  if (base && base.name !== baseModel) {
    const what = `the checkpoint was trained from ${base.name}, not from ${baseModel}`;
    throw new HeddleError("invalid", what, { loc: ["baseModel"] });
  }
  if (base && training === "adapter" && baseDigest !== undefined && base.digest !== baseDigest) {
    const what =
      `${baseModel} has changed since the adapter was trained on it; ` +
      "restore its files, or configure the changed model under another name";
    const details = { trained_on: base.digest, found: baseDigest };
    throw new HeddleError("conflict", what, { loc: ["baseModel"], details });
  }
  return state;
}
