import type { JsonObject } from "@heddle/exact-json";
import { readJsonFile } from "@heddle/durable-files";
import type { LoraConfig } from "@heddle/training";
import { loraTargets } from "@heddle/training";
import type { ModelConfig } from "../model/config.js";
import { hasProjection } from "../model/parameters.js";
import { maxRank } from "../model/lora-config.js";
import type { ConfigFields } from "./config-fields.js";
import { configFields, formatValue } from "./config-fields.js";
import type { ProjectionRows } from "./projection-rows.js";
import { moduleNames, projectionRows } from "./projection-rows.js";

/** One adapted projection of one layer. */
export interface AdaptedModule extends ProjectionRows {
  layer: number;
  /** Name of the matrix in the files of the base model: `model.layers.3.self_attn.q_proj`. */
  path: string;
  /** Of the projection. That of a matrix that holds several is as many times larger if `isStacked`. */
  rank: number;
  /** Whether each projection of a shared matrix has factors of its own: blocks on the diagonal of the second one. */
  isStacked: boolean;
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
 * @param isStacked whether the factors of a shared matrix of a layer, of this rank, are those that each of its projections has.
 */
export async function readAdapterDescription(
  directory: string,
  model: ModelConfig,
  stored: () => Promise<Set<string>>,
  isStacked: (of: { path: string; rank: number }) => Promise<boolean>,
): Promise<AdapterDescription> {
  const fields = configFields(await readJsonFile(directory, "adapter_config.json"), "adapter_config.json");
  refuseOtherMethods(fields);
  const rank = fields.count("r", maxRank);
  const alpha = fields.positive("lora_alpha");
  const isRankStabilised = fields.flag("use_rslora", false);
  const rankOf = readPattern(fields, "rank_pattern", (section, name) => section.count(name, maxRank));
  const alphaOf = readPattern(fields, "alpha_pattern", (section, name) => section.positive(name));
  const isTargeted = await readTargets(fields, stored, moduleNames(model));
  const transformed = readLayers(fields, model);
  const scaleOf = (rank: number, alpha: number, parts = 1) =>
    isRankStabilised ? alpha / Math.sqrt(rank) : alpha / parts / (rank / parts);
  const modules: AdaptedModule[] = [];
  for (const module of modulesOf(model)) {
    const { layer, path, parts } = module;
    if (!transformed(layer) || !isTargeted(path)) continue;
    const whole = rankOf(path) ?? rank;
    const stacked = parts > 1 && whole % parts === 0 && (await isStacked({ path, rank: whole }));
    const own = stacked ? whole / parts : whole;
    modules.push({
      ...module,
      rank: own,
      isStacked: stacked,
      scale: scaleOf(whole, alphaOf(path) ?? alpha, stacked ? parts : 1),
    });
  }
  if (modules.length === 0) throw fields.invalid("target_modules", "names no projection of this model");
  const targets = loraTargets.filter((target) => modules.some((module) => module.target === target));
  const widest = Math.max(...modules.map((module) => module.rank));
  // The configured alpha where it is the scale of all modules, so that no rounding changes it.
  const isUniform = widest === rank && !isRankStabilised && modules.every(({ scale }) => scale === alpha / rank);
  const common = { rank: widest, alpha: isUniform ? alpha : scaleOf(rank, alpha) * widest, targets };
  return { config: common, modules };
}

/** Returns the `adapter_config.json` of an adapter. */
export function adapterConfigJson(
  { rank, alpha, targets }: LoraConfig,
  { model, baseModel }: { model: ModelConfig; baseModel: string },
): JsonObject {
  const adapted = projectionRows(model).filter(({ target }) => targets.includes(target));
  const nameOf = ({ module }: ProjectionRows) => module.split(".")[1]!;
  const shared = new Map(adapted.filter(({ parts }) => parts > 1).map((each) => [nameOf(each), each.parts]));
  const times = (value: number) => Object.fromEntries([...shared].map(([name, parts]) => [name, value * parts]));
  return {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: baseModel,
    r: rank,
    lora_alpha: alpha,
    lora_dropout: 0,
    target_modules: [...new Set(adapted.map(nameOf))],
    ...(shared.size > 0 && { rank_pattern: times(rank), alpha_pattern: times(alpha) }),
    bias: "none",
    fan_in_fan_out: false,
    init_lora_weights: true,
    inference_mode: true,
    modules_to_save: null,
    use_dora: false,
    use_rslora: false,
  };
}

/** Returns the projections of all layers. */
export function modulesOf(model: ModelConfig): Omit<AdaptedModule, "rank" | "scale" | "isStacked">[] {
  const ofLayer = projectionRows(model);
  return Array.from({ length: model.layers }, (_, layer) =>
    ofLayer
      .filter(({ target }) => hasProjection(model, layer, target))
      .map((each) => ({ ...each, layer, path: `model.layers.${layer}.${each.module}` })),
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
  names: readonly string[],
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
    if (typeof entry === "string" && last !== undefined && names.includes(last)) return entry;
    const all = names.join(", ");
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
