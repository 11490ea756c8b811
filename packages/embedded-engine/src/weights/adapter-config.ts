import type { JsonObject } from "@heddle/exact-json";
import { readJsonFile } from "@heddle/durable-files";
import type { LoraConfig, LoraTarget } from "@heddle/training";
import { loraTargets } from "@heddle/training";
import type { ModelConfig } from "../model/config.js";
import { maxRank } from "../model/lora-config.js";
import type { ConfigFields } from "./config-fields.js";
import { configFields, formatValue } from "./config-fields.js";

/** One adapted projection of one layer. */
export interface AdaptedModule {
  layer: number;
  target: LoraTarget;
  /** Name in the files of the base model: `model.layers.3.self_attn.q_proj`. */
  path: string;
  rank: number;
  /** Factor of the product of the two matrices. */
  scale: number;
}

/** An adapter as its files describe it. */
export interface AdapterDescription {
  /** Configuration of an adapter in which all modules have the same rank and scale, and which computes the same. */
  config: LoraConfig;
  modules: AdaptedModule[];
}

/**
 * Fields that are read, and fields without effect on a trained adapter. Other fields that are set are refused, because
 * new releases of PEFT add methods.
 */
const supportedFields = new Set(
  (
    "peft_type task_type base_model_name_or_path revision r lora_alpha target_modules bias use_rslora rank_pattern " +
    "alpha_pattern layers_to_transform lora_dropout init_lora_weights inference_mode auto_mapping peft_version " +
    "layers_pattern megatron_core eva_config qalora_group_size ensure_weight_tying runtime_config"
  ).split(" "),
);

/** Initializations that do not change the base model; others (`pissa`, `olora`…) do. */
const neutralInitializations = new Set<unknown>([undefined, true, false, "gaussian", "eva", "orthogonal"]);

/**
 * Reads `adapter_config.json` of a directory.
 *
 * @param stored modules of the tensor file, which are those of an adapter whose `target_modules` is a text (`all-linear`
 *   or a regular expression, which is not evaluated).
 */
export async function readAdapterDescription(
  directory: string,
  model: ModelConfig,
  stored: () => Promise<Set<string>>,
): Promise<AdapterDescription> {
  const fields = configFields(await readJsonFile(directory, "adapter_config.json"), "adapter_config.json");
  refuseOtherMethods(fields);
  const rank = fields.count("r", maxRank);
  const alpha = fields.positive("lora_alpha");
  const isRankStabilised = fields.flag("use_rslora", false);
  const rankOf = readPattern(fields, "rank_pattern", (section, name) => section.count(name, maxRank));
  const alphaOf = readPattern(fields, "alpha_pattern", (section, name) => section.positive(name));
  const isTargeted = await readTargets(fields, stored);
  const transformed = readLayers(fields, model);
  const scaleOf = (rank: number, alpha: number) => alpha / (isRankStabilised ? Math.sqrt(rank) : rank);
  const modules = projections(model)
    .filter(({ layer, path }) => transformed(layer) && isTargeted(path))
    .map((module) => {
      const own = rankOf(module.path) ?? rank;
      return { ...module, rank: own, scale: scaleOf(own, alphaOf(module.path) ?? alpha) };
    });
  if (modules.length === 0) throw fields.invalid("target_modules", "names no projection of this model");
  const targets = loraTargets.filter((target) => modules.some((module) => module.target === target));
  const widest = Math.max(...modules.map((module) => module.rank));
  // The configured alpha where it is the scale of all modules, so that no rounding changes it.
  const isUniform = widest === rank && !isRankStabilised && modules.every(({ scale }) => scale === alpha / rank);
  const common = { rank: widest, alpha: isUniform ? alpha : scaleOf(rank, alpha) * widest, targets };
  return { config: common, modules };
}

/** Returns the `adapter_config.json` of an adapter. */
export function adapterConfigJson({ rank, alpha, targets }: LoraConfig, baseModel: string): JsonObject {
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

/** Returns the name of a projection in the files of a base model. */
export function modulePath(layer: number, target: LoraTarget): string {
  const block = ["gate", "up", "down"].includes(target) ? "mlp" : "self_attn";
  return `model.layers.${layer}.${block}.${target}_proj`;
}

function projections(model: ModelConfig): Pick<AdaptedModule, "layer" | "target" | "path">[] {
  return Array.from({ length: model.layers }, (_, layer) =>
    loraTargets.map((target) => ({ layer, target, path: modulePath(layer, target) })),
  ).flat();
}

function refuseOtherMethods(fields: ConfigFields): void {
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
}

/** Returns whether a module is adapted. An entry of a list names the modules whose path ends with it. */
async function readTargets(
  fields: ConfigFields,
  stored: () => Promise<Set<string>>,
): Promise<(path: string) => boolean> {
  const named = fields.value("target_modules");
  if (typeof named === "string") {
    const found = await stored();
    return (path) => found.has(path);
  }
  if (!Array.isArray(named) || named.length === 0) {
    throw fields.unsupported("target_modules", `is ${formatValue(named)}; the engine needs a list of projections`);
  }
  const entries = named.map((entry: unknown) => {
    const last = typeof entry === "string" ? entry.split(".").at(-1) : undefined;
    if (typeof entry === "string" && loraTargets.some((each) => last === `${each}_proj`)) return entry;
    const all = loraTargets.map((each) => `${each}_proj`).join(", ");
    throw fields.unsupported("target_modules", `has ${formatValue(entry)}; the engine adapts ${all}`);
  });
  return (path) => entries.some((entry) => endsWith(path, entry));
}

function readLayers(fields: ConfigFields, { layers }: ModelConfig): (layer: number) => boolean {
  const given = fields.value("layers_to_transform");
  if (given === undefined || (Array.isArray(given) && given.length === 0)) return () => true;
  const list: unknown[] = Array.isArray(given) ? given : [given];
  const wrong = list.find((each) => !Number.isInteger(each) || Number(each) < 0 || Number(each) >= layers);
  if (wrong !== undefined) {
    throw fields.invalid("layers_to_transform", `has ${formatValue(wrong)}; the model has ${layers} layers`);
  }
  return (layer) => list.includes(layer);
}

/**
 * Reads values of modules that differ from those of the adapter. A key is the end of a path, or, after `^`, a whole
 * path; the first that matches holds. Other regular expressions are refused.
 */
function readPattern(
  fields: ConfigFields,
  name: string,
  read: (section: ConfigFields, key: string) => number,
): (path: string) => number | undefined {
  const section = fields.object(name);
  const entries = (section?.names() ?? []).map((key) => {
    if (section && /^\^?[\w.]+$/u.test(key)) return { key, value: read(section, key) };
    throw fields.unsupported(name, `has the key ${formatValue(key)}; the engine reads ends of module names`);
  });
  return (path) => entries.find(({ key }) => (key[0] === "^" ? path === key.slice(1) : endsWith(path, key)))?.value;
}

function endsWith(path: string, end: string): boolean {
  return path === end || path.endsWith(`.${end}`);
}

/** Returns whether a setting is used: PEFT writes `false`, `null`, `{}` and `[]` for unused ones. */
function isSet(value: unknown): boolean {
  return typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);
}
