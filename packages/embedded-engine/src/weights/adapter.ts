import { loraTargets } from "@heddle/training";
import type { LoraConfig, LoraTarget } from "@heddle/training";
import type { JsonObject, WrittenFile } from "@heddle/durable-files";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { maxRank } from "../model/lora-config.js";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import { adapterParameters, parameterSet, projectionShape } from "../model/parameters.js";
import type { ConfigFields } from "./config-fields.js";
import { configFields, formatValue } from "./config-fields.js";
import { readJsonFile, writeDurableFile } from "@heddle/durable-files";
import { allFinite } from "./finite.js";
import { writeSafetensors } from "./safetensors.js";
import { openTensors } from "./sharded-tensors.js";
import type { TensorLocation } from "./tensor-layout.js";
import { storeTensor, tensorValues } from "./tensor-layout.js";

export interface Adapter {
  config: LoraConfig;
  set: ParameterSet;
}

/**
 * Fields that LoRA needs, and fields without effect on a trained adapter. Other fields that are set are refused,
 * because new releases of PEFT add methods.
 */
const supportedFields = new Set(
  (
    "peft_type task_type base_model_name_or_path revision r lora_alpha target_modules bias " +
    "lora_dropout init_lora_weights inference_mode auto_mapping peft_version layers_pattern " +
    "megatron_core eva_config qalora_group_size ensure_weight_tying runtime_config"
  ).split(" "),
);

/** Initializations that do not change the base model; others (`pissa`, `olora`…) do. */
const neutralInitializations = new Set<unknown>([undefined, true, false, "gaussian", "eva", "orthogonal"]);

/** Reads the shape of an adapter from `adapter_config.json`. */
export async function readAdapterConfig(directory: string): Promise<LoraConfig> {
  return parseAdapterConfig(configFields(await readJsonFile(directory, "adapter_config.json"), "adapter_config.json"));
}

/**
 * Reads a low-rank adapter in PEFT's layout (`adapter_config.json`, `adapter_model.safetensors`) for a model of the
 * given shape.
 *
 * @throws HeddleError naming file and field or tensor: `not_found`, `invalid`, or `unsupported` for PEFT methods other than
 *   LoRA.
 */
export async function readAdapter(directory: string, model: ModelConfig): Promise<Adapter> {
  const config = await readAdapterConfig(directory);
  const tensors = await openTensors(directory, "adapter_model");
  try {
    const locations = adapterLocations(model, config);
    for (const { tensor, shape } of locations) tensors.require(tensor, shape);
    const known = new Set(locations.map(({ tensor }) => tensor));
    for (const name of tensors.names()) {
      if (!known.has(name)) throw tensors.error(name, "is not part of this adapter");
    }
    const set = parameterSet(adapterParameters(model, config));
    for (const location of locations) {
      const values = await tensors.read(location.tensor);
      if (!allFinite(values)) throw tensors.error(location.tensor, "has numbers that are not finite");
      storeTensor(location, values, set.views.get(location.parameter)!);
    }
    return { config, set };
  } finally {
    await tensors.close();
  }
}

/**
 * Writes an adapter in PEFT's layout, in f32, into a directory, which is created if it does not exist.
 *
 * @param baseModel value of `base_model_name_or_path`.
 */
export async function writeAdapter(
  directory: string,
  { config, set }: Adapter,
  { model, baseModel }: { model: ModelConfig; baseModel: string },
): Promise<Map<string, WrittenFile>> {
  await mkdir(directory, { recursive: true });
  const json = `${JSON.stringify(adapterConfigJson(config, baseModel), null, 2)}\n`;
  const sources = adapterLocations(model, config).map((location) => ({
    name: location.tensor,
    shape: location.shape,
    values: () => tensorValues(location, set.views.get(location.parameter)!),
  }));
  return new Map([
    ["adapter_config.json", await writeDurableFile(join(directory, "adapter_config.json"), json)],
    ["adapter_model.safetensors", await writeSafetensors(join(directory, "adapter_model.safetensors"), sources, "F32")],
  ]);
}

function parseAdapterConfig(fields: ConfigFields): LoraConfig {
  const method = fields.text("peft_type");
  if (method !== "LORA") throw fields.unsupported("peft_type", `is ${formatValue(method)}; the engine computes LORA`);
  for (const name of fields.names()) {
    const value = fields.value(name);
    if (isSet(value) && !supportedFields.has(name)) {
      throw fields.unsupported(name, `is ${formatValue(value)}; the engine computes LoRA without extensions`);
    }
  }
  const initialization = fields.value("init_lora_weights");
  if (!neutralInitializations.has(initialization)) {
    throw fields.unsupported(
      "init_lora_weights",
      `is ${formatValue(initialization)}, which also changes the base model`,
    );
  }
  const bias = fields.text("bias") ?? "none";
  if (bias !== "none") throw fields.unsupported("bias", `is ${formatValue(bias)}; the engine trains no biases`);
  const rank = fields.count("r", maxRank);
  return { rank, alpha: fields.positive("lora_alpha"), targets: parseTargets(fields) };
}

function parseTargets(fields: ConfigFields): LoraTarget[] {
  const named = fields.value("target_modules");
  if (!Array.isArray(named) || named.length === 0) {
    throw fields.unsupported("target_modules", `is ${formatValue(named)}; the engine needs a list of projections`);
  }
  const targets = new Set<LoraTarget>();
  for (const module of named as unknown[]) {
    const target = loraTargets.find((each) => module === `${each}_proj`);
    if (!target) {
      const all = loraTargets.map((each) => `${each}_proj`).join(", ");
      throw fields.unsupported("target_modules", `has ${formatValue(module)}; the engine adapts ${all}`);
    }
    targets.add(target);
  }
  return loraTargets.filter((each) => targets.has(each));
}

function adapterConfigJson({ rank, alpha, targets }: LoraConfig, baseModel: string): JsonObject {
  return {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: baseModel,
    r: rank,
    lora_alpha: alpha,
    lora_dropout: 0,
    target_modules: loraTargets.filter((each) => targets.includes(each)).map((each) => `${each}_proj`),
    bias: "none",
    fan_in_fan_out: false,
    init_lora_weights: true,
    inference_mode: true,
    modules_to_save: null,
    use_dora: false,
    use_rslora: false,
  };
}

/** PEFT stores A as [rank, inputs] and B as [outputs, rank]; the parameters here are their transposes. */
function adapterLocations(model: ModelConfig, { rank, targets }: LoraConfig): TensorLocation[] {
  const locations: TensorLocation[] = [];
  for (let layer = 0; layer < model.layers; layer++) {
    for (const target of loraTargets.filter((each) => targets.includes(each))) {
      const [inputs, outputs] = projectionShape(model, target);
      const block = ["gate", "up", "down"].includes(target) ? "mlp" : "self_attn";
      const from = `base_model.model.model.layers.${layer}.${block}.${target}_proj`;
      const to = `layers.${layer}.${target}`;
      locations.push(
        {
          tensor: `${from}.lora_A.weight`,
          shape: [rank, inputs],
          parameter: `${to}.a`,
          projection: { column: 0, columns: rank },
        },
        {
          tensor: `${from}.lora_B.weight`,
          shape: [outputs, rank],
          parameter: `${to}.b`,
          projection: { column: 0, columns: outputs },
        },
      );
    }
  }
  return locations;
}

/** Returns whether a setting is used: PEFT writes `false`, `null`, `{}` and `[]` for unused ones. */
function isSet(value: unknown): boolean {
  return typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);
}
