import type { ModelAdapter, TrainingModel } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/training";
import { loraTargets } from "@heddle/training";
import type { LoraConfig, TrainingEngine } from "@heddle/training";
import type { Config } from "../config/config.js";

interface Used {
  config: Pick<Config, "loraRank">;
  training: TrainingEngine;
}

/** The adapter of a model that has not been trained yet; none if the engine trains all weights only. */
export async function newAdapter(
  { config, training }: Used,
  { base_model, lora: chosen }: Pick<TrainingModel, "base_model" | "lora">,
): Promise<{ adapter?: LoraConfig }> {
  const lora = await capabilitiesOf(training, base_model);
  if (lora === undefined) return {};
  if (chosen !== null) return { adapter: loraConfigOf(chosen) };
  return { adapter: defaultAdapter(lora, config.loraRank) };
}

/**
 * The adapter that a request to create a model asks for, with the defaults of what it leaves out. Throws `unprocessable`,
 * with the field, for one that the base model cannot have here.
 */
export async function requestedAdapter(
  { config, training }: Used,
  baseModel: string,
  requested: Schemas["LoraSettings"],
): Promise<ModelAdapter> {
  const lora = await capabilitiesOf(training, baseModel);
  if (lora === undefined) throw refuse([], `no adapter of ${baseModel} can be trained here`);
  const { rank: defaultRank, targets: defaultTargets, ...usual } = defaultAdapter(lora, config.loraRank);
  const rank = requested.rank ?? defaultRank;
  if (rank > lora.maxRank) throw refuse(["rank"], `is ${rank}; adapters of ${baseModel} have at most ${lora.maxRank}`);
  const alpha = requested.alpha ?? lora.alpha ?? (requested.rank === undefined ? usual.alpha : 2 * rank);
  if (lora.alpha !== undefined && alpha !== lora.alpha)
    throw refuse(["alpha"], `is ${alpha}; adapters of ${baseModel} have ${lora.alpha}`);
  const targets = requested.target_modules?.map(targetOf) ?? defaultTargets;
  const others = targets.length !== defaultTargets.length || targets.some((each) => !defaultTargets.includes(each));
  if (others && !lora.selectableTargets)
    throw refuse(["target_modules"], `must be ${defaultTargets.map(moduleOf).join(", ")} for ${baseModel}`);
  if (lora.targetGroups) checkGroups(targets, lora.targetGroups, baseModel);
  const adapter = { rank, alpha, targets: loraTargets.filter((each) => targets.includes(each)) };
  if (lora.sequenceTokens?.(adapter) === 0)
    throw refuse(["rank"], `is ${rank}: such an adapter of ${baseModel} needs more memory than a trainer has`);
  return adapter;
}

function checkGroups(targets: LoraConfig["targets"], groups: LoraConfig["targets"][], baseModel: string): void {
  const namesOf = (named: LoraConfig["targets"]) => named.map(moduleOf).join(", ");
  const other = targets.find((each) => !groups.flat().includes(each));
  if (other !== undefined) {
    const all = namesOf(groups.flat());
    throw refuse(["target_modules"], `has ${moduleOf(other)}; adapters of ${baseModel} may have ${all}`);
  }
  for (const group of groups.filter((each) => each.some((target) => targets.includes(target)))) {
    const missing = group.find((target) => !targets.includes(target));
    if (missing === undefined) continue;
    const message = `lacks ${moduleOf(missing)}; ${baseModel} has ${namesOf(group)} as one matrix, which is adapted as a whole`;
    throw refuse(["target_modules"], message);
  }
}

/** An adapter as the API shows it. */
export function wireAdapter(lora: ModelAdapter | null): Schemas["Lora"] | null {
  return lora && { rank: lora.rank, alpha: lora.alpha, target_modules: loraConfigOf(lora).targets.map(moduleOf) };
}

export function sameAdapter(one: ModelAdapter | null, other: ModelAdapter | null): boolean {
  const textOf = (adapter: ModelAdapter | null) =>
    adapter && JSON.stringify([adapter.rank, adapter.alpha, adapter.targets.toSorted()]);
  return textOf(one) === textOf(other);
}

export function describeAdapter({ rank, alpha, targets }: ModelAdapter): string {
  return `rank ${rank}, alpha ${alpha} and ${targets.map((each) => `${each}_proj`).join(", ")}`;
}

type Module = Schemas["Lora"]["target_modules"][number];
const moduleOf = (target: LoraConfig["targets"][number]): Module => `${target}_proj`;
const targetOf = (module: Module) => loraTargets.find((each) => moduleOf(each) === module) ?? "q";

async function capabilitiesOf(training: TrainingEngine, baseModel: string) {
  const { models } = await training.capabilities();
  return models.find(({ name }) => name === baseModel)?.training?.lora;
}

type Capabilities = NonNullable<Awaited<ReturnType<typeof capabilitiesOf>>>;

function defaultAdapter(lora: Capabilities, configuredRank: number | undefined): LoraConfig {
  if (configuredRank === undefined) return lora.default;
  const rank = Math.min(configuredRank, lora.maxRank);
  return { ...lora.default, rank, alpha: lora.alpha ?? 2 * rank };
}

function loraConfigOf({ rank, alpha, targets }: ModelAdapter): LoraConfig {
  return { rank, alpha, targets: loraTargets.filter((each) => targets.includes(each)) };
}

function refuse(loc: string[], message: string): HeddleError {
  return new HeddleError("unprocessable", message, { loc: ["lora", ...loc] });
}
