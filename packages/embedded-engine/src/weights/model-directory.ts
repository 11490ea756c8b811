import type { JsonObject } from "@heddle/exact-json";
import type { WrittenFile } from "@heddle/durable-files";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import { modelParameters, parameterSet } from "../model/parameters.js";
import { modelConfigJson, parseModelConfig } from "./config-json.js";
import { ifExists, readJsonFile, writeDurableFile } from "@heddle/durable-files";
import { families } from "./families.js";
import { allFinite } from "./finite.js";
import { withExpandedMxfp4 } from "./mxfp4.js";
import { writeSafetensors } from "./safetensors.js";
import type { Tensors } from "./sharded-tensors.js";
import { withSeparateExperts } from "./stacked-experts.js";
import { openTensors } from "./sharded-tensors.js";
import { textPart } from "./text-part.js";
import { storeTensor, tensorLocations, tensorValues } from "./tensor-layout.js";

export interface ModelWeights {
  config: ModelConfig;
  weights: ParameterSet;
}

/** Files that are copied unchanged from the base model when a model is written. */
export const auxiliaryFiles = [
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "tokenizer.model",
  "chat_template.jinja",
  "chat_template.json",
  "generation_config.json",
];

/** Fields of the base model's `config.json` that do not affect the shape but are read by other programs. */
const carriedFields = ["bos_token_id", "eos_token_id", "pad_token_id", "initializer_range"];

/**
 * Reads the shape of the model in a Hugging Face directory of one of `families`.
 *
 * @throws HeddleError naming file and field: `not_found`, `invalid` or `unsupported`.
 */
export async function readModelConfig(directory: string): Promise<ModelConfig> {
  return parseModelConfig(await readJsonFile(directory, "config.json"));
}

/**
 * Loads a Hugging Face directory: single or sharded safetensors in F32, F16 or BF16. Needs memory for the weights in
 * f32 and for the largest tensor. Nothing is allocated before every tensor's name and shape are checked.
 *
 * @throws HeddleError naming file and tensor or field.
 */
export async function loadModel(directory: string): Promise<ModelWeights> {
  const config = await readModelConfig(directory);
  const tensors = await openModelTensors(directory, config);
  try {
    const locations = tensorLocations(config);
    const weights = parameterSet(modelParameters(config));
    for (const location of locations) {
      const parameter = weights.views.get(location.parameter)!;
      const isAsStored = location.plus === undefined && location.pairs === undefined;
      const fillsParameter = isAsStored && !location.projection && location.offset === undefined;
      const values = await tensors.read(location.tensor, fillsParameter ? parameter : undefined);
      if (!allFinite(values)) throw tensors.error(location.tensor, "has numbers that are not finite");
      if (!fillsParameter) storeTensor(location, values, parameter);
    }
    return { config, weights };
  } finally {
    await tensors.close();
  }
}

/** Checks that `loadModel` finds every tensor in its shape and nothing else. Reads only the headers of the files. */
export async function checkModelTensors(directory: string, config: ModelConfig): Promise<void> {
  const tensors = await openModelTensors(directory, config);
  await tensors.close();
}

/** Opens the tensors of a model, of which the names and shapes are checked. */
export async function openModelTensors(directory: string, config: ModelConfig): Promise<Tensors> {
  const tensors = await openWeights(directory, config);
  try {
    for (const { tensor, shape } of tensorLocations(config)) tensors.require(tensor, shape);
    await refuseUnexpected(tensors, config);
    return tensors;
  } catch (error) {
    await tensors.close();
    throw error;
  }
}

async function openWeights(directory: string, { family }: ModelConfig): Promise<Tensors> {
  const { experts, others } = families[family];
  const tensors = await openTensors(directory, "model");
  const text = others ? textPart(tensors, families[family]) : tensors;
  if (experts === "separate") return withSeparateExperts(text);
  return experts === "together" ? withExpandedMxfp4(text) : text;
}

/**
 * Writes a model as a Hugging Face directory, which is created if it does not exist. All files are synced to disk.
 *
 * @param options.base a directory whose tokenizer, chat template and token ids are copied.
 * @returns the files with sizes and digests.
 */
export async function writeModel(
  directory: string,
  { config, weights }: ModelWeights,
  { dtype, base }: { dtype: "F32" | "BF16"; base?: string },
): Promise<Map<string, WrittenFile>> {
  await mkdir(directory, { recursive: true });
  const files = base === undefined ? new Map<string, WrittenFile>() : await copyAuxiliaryFiles(base, directory);
  const json = {
    ...modelConfigJson(config),
    ...(base !== undefined && (await carried(base))),
    torch_dtype: dtype === "F32" ? "float32" : "bfloat16",
  };
  files.set(
    "config.json",
    await writeDurableFile(join(directory, "config.json"), `${JSON.stringify(json, null, 2)}\n`),
  );
  const sources = tensorLocations(config).map((location) => ({
    name: location.tensor,
    shape: location.shape,
    values: () => tensorValues(location, weights.views.get(location.parameter)!),
  }));
  files.set("model.safetensors", await writeSafetensors(join(directory, "model.safetensors"), sources, dtype));
  return files;
}

async function refuseUnexpected(tensors: Tensors, config: ModelConfig): Promise<void> {
  const known = new Set(tensorLocations(config).map(({ tensor }) => tensor));
  for (const name of tensors.names()) {
    // Older Llama files contain the rotary frequencies, which follow from the configuration.
    if (known.has(name) || name.endsWith(".rotary_emb.inv_freq")) continue;
    if (name === "lm_head.weight" && (await equalsEmbedding(tensors))) continue;
    const because = name === "lm_head.weight" ? ": tie_word_embeddings is true, but the two differ" : "";
    throw tensors.error(name, `is not part of this model${because}`);
  }
}

/** Some files store the shared matrix of a tied head twice. */
async function equalsEmbedding(tensors: Tensors): Promise<boolean> {
  const embedding = await tensors.read("model.embed_tokens.weight");
  const head = await tensors.read("lm_head.weight");
  return head.length === embedding.length && head.every((value, at) => value === embedding[at]);
}

async function copyAuxiliaryFiles(from: string, to: string): Promise<Map<string, WrittenFile>> {
  const files = new Map<string, WrittenFile>();
  for (const name of auxiliaryFiles) {
    const found = await ifExists(stat(join(from, name)));
    if (!found?.isFile()) continue;
    files.set(name, await writeDurableFile(join(to, name), await readFile(join(from, name))));
  }
  return files;
}

export async function carried(base: string): Promise<JsonObject> {
  const hasConfig = await ifExists(stat(join(base, "config.json")));
  if (!hasConfig) return {};
  const json = await readJsonFile(base, "config.json");
  return Object.fromEntries(carriedFields.filter((name) => name in json).map((name) => [name, json[name]]));
}
