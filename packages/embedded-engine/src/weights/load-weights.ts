import type { LoraConfig, WeightsRef } from "@heddle/training";
import { HeddleError } from "@heddle/errors";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import type { Adapter } from "./adapter.js";
import { readAdapterConfig } from "./adapter.js";
import type { BaseModelSettings, LocalModelInfo } from "./base-models.js";
import { describeBaseModel, loadBaseModel } from "./base-models.js";
import { readCheckpoint } from "./checkpoint.js";
import { readModelConfig } from "./model-directory.js";
import type { OptimizerState } from "./optimizer-file.js";
import { readTrainingState } from "./training-state.js";

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
  return { base, config, adapter: await readAdapterConfig(ref.checkpoint) };
}

/**
 * Loads the weights of a reference and validates them; see `readCheckpoint` and `loadModel`.
 *
 * @param options.optimizer read the optimizer state as well.
 * @throws HeddleError `not_found`, `invalid`, `corrupt`, `unsupported` or `incompatible`; see `describeWeights`.
 */
export async function loadWeights(
  settings: BaseModelSettings,
  ref: WeightsRef,
  options: { optimizer?: boolean } = {},
): Promise<LoadedWeights> {
  const { info: base, config } = await describeBaseModel(settings, ref.baseModel);
  if (ref.checkpoint === undefined) return { base, ...(await loadBaseModel(settings, ref.baseModel)) };
  await readMatchingState(ref.checkpoint, ref.baseModel);
  const { trained, optimizer, ...read } = await readCheckpoint(ref.checkpoint, config, options);
  if ("weights" in trained) return { base, config: read.config, weights: trained.weights, optimizer };
  const { weights } = await loadBaseModel(settings, ref.baseModel);
  return { base, config, weights, adapter: trained.adapter, optimizer };
}

async function readMatchingState(checkpoint: string, baseModel: string) {
  const state = await readTrainingState(checkpoint);
  if (state.baseModel !== baseModel) {
    const what = `the checkpoint was trained from ${state.baseModel}, not from ${baseModel}`;
    throw new HeddleError("invalid", what, { loc: ["baseModel"] });
  }
  return state;
}
