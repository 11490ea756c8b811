import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { WrittenFile } from "@heddle/durable-files";
import { writeDurableFile } from "@heddle/durable-files";
import type { LoraConfig } from "@heddle/training";
import { loraTargets } from "@heddle/training";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import { adapterParameters, parameterSet, projectionShape } from "../model/parameters.js";
import type { AdaptedModule } from "./adapter-config.js";
import { adapterConfigJson, modulePath, readAdapterDescription } from "./adapter-config.js";
import { allFinite } from "./finite.js";
import type { WeightFormat } from "./number-formats.js";
import { writeSafetensors } from "./safetensors.js";
import type { Tensors } from "./sharded-tensors.js";
import { openTensors } from "./sharded-tensors.js";
import type { TensorLocation } from "./tensor-layout.js";
import { storeTensor, tensorValues } from "./tensor-layout.js";

export interface Adapter {
  config: LoraConfig;
  set: ParameterSet;
}

/** Reads the shape of an adapter from `adapter_config.json`, without its numbers. */
export async function readAdapterConfig(directory: string, model: ModelConfig): Promise<LoraConfig> {
  const stored = async () => {
    const tensors = await openTensors(directory, "adapter_model");
    await tensors.close();
    return new Set(namedFactors(tensors).map(({ path }) => path));
  };
  return (await readAdapterDescription(directory, model, stored)).config;
}

/**
 * Reads a low-rank adapter in PEFT's layout (`adapter_config.json`, `adapter_model.safetensors`) for a model of the
 * given shape. Names of tensors may have the prefix of PEFT (`base_model.model.`) or not. Modules of lower rank, and
 * layers that are not adapted, are filled with zeros.
 *
 * @throws HeddleError naming file and field or tensor: `not_found`, `invalid`, or `unsupported` for PEFT methods other than
 *   LoRA.
 */
export async function readAdapter(directory: string, model: ModelConfig): Promise<Adapter> {
  const tensors = await openTensors(directory, "adapter_model");
  try {
    const { config, located: all } = await locate(tensors, directory, model);
    const set = parameterSet(adapterParameters(model, config));
    for (const { location, factor } of all) {
      const values = await tensors.read(location.tensor);
      if (!allFinite(values)) throw tensors.error(location.tensor, "has numbers that are not finite");
      const view = set.views.get(location.parameter)!;
      if (factor === 1) storeTensor(location, values, view);
      else
        storeTensor(
          location,
          values.map((value) => value * factor),
          view,
        );
    }
    return { config, set };
  } finally {
    await tensors.close();
  }
}

/** Reads the shape of an adapter as `readAdapter` does, with the same checks but for those of the numbers. */
export async function checkAdapter(directory: string, model: ModelConfig): Promise<LoraConfig> {
  const tensors = await openTensors(directory, "adapter_model");
  try {
    return (await locate(tensors, directory, model)).config;
  } finally {
    await tensors.close();
  }
}

/** Finds the factors of an adapter in its file, and checks their shapes. */
async function locate(
  tensors: Tensors,
  directory: string,
  model: ModelConfig,
): Promise<{ config: LoraConfig; located: ReturnType<typeof moduleFactors> }> {
  const factors = namedFactors(tensors);
  const stored = new Set(factors.map(({ path }) => path));
  const { config, modules } = await readAdapterDescription(directory, model, async () => stored);
  const known = new Set(modules.map(({ path }) => path));
  const foreign = factors.find(({ path }) => !known.has(path));
  if (foreign) throw tensors.error(foreign.tensor, "is not part of this adapter");
  const names = new Map(factors.map(({ path, factor, tensor }) => [`${path}.${factor}`, tensor]));
  const located = modules.flatMap((module) => moduleFactors(model, config, module, names));
  for (const { location } of located) tensors.require(location.tensor, location.shape);
  return { config, located };
}

/**
 * Writes an adapter in PEFT's layout into a directory, which is created if it does not exist.
 *
 * @param baseModel value of `base_model_name_or_path`.
 */
export async function writeAdapter(
  directory: string,
  { config, set }: Adapter,
  { model, baseModel, dtype = "F32" }: { model: ModelConfig; baseModel: string; dtype?: Exclude<WeightFormat, "F16"> },
): Promise<Map<string, WrittenFile>> {
  await mkdir(directory, { recursive: true });
  const json = `${JSON.stringify(adapterConfigJson(config, baseModel), null, 2)}\n`;
  const sources = writtenLocations(model, config).map((location) => ({
    name: location.tensor,
    shape: location.shape,
    values: () => tensorValues(location, set.views.get(location.parameter)!),
  }));
  return new Map([
    ["adapter_config.json", await writeDurableFile(join(directory, "adapter_config.json"), json)],
    ["adapter_model.safetensors", await writeSafetensors(join(directory, "adapter_model.safetensors"), sources, dtype)],
  ]);
}

interface NamedFactor {
  /** Name in the file. */
  tensor: string;
  /** Path of the module in the base model. */
  path: string;
  factor: "a" | "b";
}

const factorName = /^(?:base_model\.model\.)?(?:model\.)?(layers\.\d+\.\w+\.\w+)\.lora_([AB])(?:\.default)?\.weight$/u;

/** Returns the tensors of a file. Throws `invalid` for a name that is not one of a factor, or that two tensors have. */
function namedFactors(tensors: Tensors): NamedFactor[] {
  const seen = new Set<string>();
  return Array.from(tensors.names(), (tensor) => {
    const [, module, letter] = factorName.exec(tensor) ?? [];
    if (module === undefined) throw tensors.error(tensor, otherTensor(tensor));
    const path = `model.${module}`;
    const factor = letter === "A" ? "a" : "b";
    if (seen.has(path + factor)) throw tensors.error(tensor, "is in the file under two names");
    seen.add(path + factor);
    return { tensor, path, factor };
  });
}

/** PEFT writes the embeddings of an adapter whose vocabulary was changed. */
function otherTensor(tensor: string): string {
  return /(?:^|\.)(?:embed_tokens|lm_head)\.weight$/u.test(tensor)
    ? "is an embedding of the whole vocabulary; an adapter for another vocabulary than the base model's cannot be used"
    : "is not part of this adapter";
}

/**
 * Returns where the factors of a module are in the file and in the parameters: the first columns of `a` and rows of
 * `b`. The file has A as [rank, inputs] and B as [outputs, rank], the transposes of the parameters. `factor`: what the
 * numbers are multiplied by, because the scale of the adapter is not that of the module.
 */
function moduleFactors(
  model: ModelConfig,
  config: LoraConfig,
  { layer, target, path, rank, scale }: AdaptedModule,
  names?: ReadonlyMap<string, string>,
): { location: TensorLocation; factor: number }[] {
  const [inputs, outputs] = projectionShape(model, target);
  const written = `base_model.model.${path}`;
  const location = (factor: "a" | "b", shape: number[], columns: number): TensorLocation => ({
    tensor: names?.get(`${path}.${factor}`) ?? `${written}.lora_${factor.toUpperCase()}.weight`,
    shape,
    parameter: `layers.${layer}.${target}.${factor}`,
    projection: { column: 0, columns },
  });
  const common = config.alpha / config.rank;
  return [
    { location: location("a", [rank, inputs], config.rank), factor: 1 },
    { location: location("b", [outputs, rank], outputs), factor: scale === common ? 1 : scale / common },
  ];
}

function writtenLocations(model: ModelConfig, config: LoraConfig): TensorLocation[] {
  const { rank, alpha } = config;
  const targets = loraTargets.filter((each) => config.targets.includes(each));
  const modules = Array.from({ length: model.layers }, (_, layer) =>
    targets.map((target) => ({ layer, target, path: modulePath(layer, target), rank, scale: alpha / rank })),
  ).flat();
  return modules.flatMap((module) => moduleFactors(model, config, module).map(({ location }) => location));
}
