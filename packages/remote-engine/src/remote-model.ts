import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject } from "@heddle/exact-json";
import { digestFile, ifExists, readJsonFile } from "@heddle/durable-files";
import { HeddleError } from "@heddle/errors";
import { digestOf } from "@heddle/training";
import type { BaseModelInfo, LoraConfig, UnavailableModel } from "@heddle/training";

/** A base model that other servers train and serve. */
export interface RemoteModel {
  /** Name for users of this engine. */
  name: string;
  /** Absolute path of a local directory with the model's `config.json`, tokenizer and chat template. */
  directory: string;
  /** Absent: the training server does not have the model. */
  trainer?: TrainedModel;
  /** Absent: the inference server does not have the model. */
  inference?: ServedModel;
}

/**
 * How a server scales gradients. `sum`: losses of tokens are added up. `sequence_mean`: the loss of a sequence is divided
 * by the sum of its weights, and gradients by the number of sequences since the last optimizer step.
 */
export type GradientScale = "sum" | "sequence_mean";

/** How the training server knows a model, and the properties that its wire does not tell. */
export interface TrainedModel {
  model: string;
  gradientScale: GradientScale;
  /** Whether the server applies `grad_clip_norm`. */
  gradientClipping: boolean;
  /** The adapter that the server trains; its `alpha` and targets cannot be chosen. */
  lora: LoraConfig;
  maxRank: number;
  maxOpenTrainers?: number;
}

/** How the inference server knows a model. */
export interface ServedModel {
  model: string;
  /** Maximum number of tokens of prompt and completion together (`--max-model-len`). Absent: that of the model. */
  contextLength?: number;
}

/**
 * Returns the identity of a model that only its server has: its name there and the files of its local directory. It does
 * not notice other weights under the same name.
 */
export async function remoteModelDigest(model: RemoteModel): Promise<string> {
  const files = ["config.json", "tokenizer.json"].map(async (name) => {
    const path = join(model.directory, name);
    return (await ifExists(lstat(path))) ? (await digestFile(path)).sha256 : null;
  });
  return digestOf(["remote", model.trainer?.model ?? model.inference?.model, await Promise.all(files)]);
}

interface DescribedModels<Model extends RemoteModel> {
  described: { model: Model; info: BaseModelInfo }[];
  /** Models whose directory cannot be used. */
  unavailableModels: UnavailableModel[];
}

/** Reads what the port needs to know of models from their directories. One that cannot be read does not hide the others. */
export async function describeRemoteModels<Model extends RemoteModel>(
  models: readonly Model[],
): Promise<DescribedModels<Model>> {
  const found: DescribedModels<Model> = { described: [], unavailableModels: [] };
  for (const model of models) {
    try {
      found.described.push({ model, info: await describe(model) });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      found.unavailableModels.push({ name: model.name, reason });
    }
  }
  return found;
}

async function describe({ name, directory }: RemoteModel): Promise<BaseModelInfo> {
  const config = await readJsonFile(directory, "config.json");
  const nested = config["text_config"];
  const text = isJsonObject(nested) ? { ...config, ...nested } : config;
  const [vocabularySize, contextLength] = [text["vocab_size"], text["max_position_embeddings"]];
  if (typeof vocabularySize !== "number" || typeof contextLength !== "number") {
    throw new HeddleError("invalid", `config.json has no vocab_size or no max_position_embeddings`);
  }
  return { name, vocabularySize, contextLength, directory };
}
