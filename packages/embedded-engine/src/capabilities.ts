import { longestText } from "./decode/admission.js";
import type { BaseModelInfo, LoraConfig, TrainingCapabilities } from "@heddle/training";
import { loraTargets } from "@heddle/training";
import type { ModelConfig } from "./model/config.js";
import { maxRank } from "./model/lora-config.js";
import { requireSamplingMemory, requireTrainingMemory, trainsAllWeights } from "./model/memory.js";
import { maxSequenceTokens } from "./trainer/batch-limits.js";
import type { BaseModel, BaseModelProblem } from "./weights/base-models.js";
import { targetGroups } from "./weights/projection-rows.js";

/** Memory of one trainer and of the sampling process, in bytes, and threads of one trainer. */
export interface EngineResources {
  trainerBytes: number;
  samplerBytes: number;
  threads: number;
  trainers: number;
  /** Rank of the adapters whose memory the limits of adapters allow for. */
  adapterRank: number;
}

/** Adapter on every projection, the usual shape for models of some billion weights; of a mixture of experts on those of attention. */
function defaultAdapter({ experts }: ModelConfig): LoraConfig {
  return { rank: 8, alpha: 16, targets: experts ? ["q", "k", "v", "o"] : [...loraTargets] };
}

/** Returns the adapter that is trained if none is requested; undefined where all weights can be trained. */
export function adapterIfNone(config: ModelConfig, { trainerBytes }: EngineResources): LoraConfig | undefined {
  return fits(() => requireTrainingMemory(config, undefined, trainerBytes)) ? undefined : defaultAdapter(config);
}

/**
 * Divides models into those that can be sampled from or trained, with their capabilities, and those for which the
 * memory is too small.
 */
export function withCapabilities(
  models: BaseModel[],
  resources: EngineResources,
): { models: BaseModelInfo[]; problems: BaseModelProblem[] } {
  const usable: BaseModelInfo[] = [];
  const problems: BaseModelProblem[] = [];
  for (const { info, config } of models) {
    const training = trainingOf(config, resources);
    const tooLarge = reasonOf(() => requireSamplingMemory(config, resources.samplerBytes));
    const sampling = tooLarge === undefined && {
      contextLength: longestText(config, resources.samplerBytes),
      fullWeights: true,
    };
    if (training || sampling) usable.push({ ...info, ...(training && { training }), ...(sampling && { sampling }) });
    else problems.push({ name: info.name, reason: tooLarge ?? "" });
  }
  return { models: usable, problems };
}

function trainingOf(
  config: ModelConfig,
  { trainerBytes, threads, trainers, adapterRank }: EngineResources,
): TrainingCapabilities | undefined {
  const tokens = (adapter?: LoraConfig) => maxSequenceTokens(config, adapter, { memoryBytes: trainerBytes, threads });
  const byDefault = defaultAdapter(config);
  const groups = targetGroups(config);
  const withAllWeights = trainsAllWeights(config) ? tokens() : 0;
  const withAdapter = tokens({ ...byDefault, rank: adapterRank }) || tokens(byDefault);
  if (withAllWeights === 0 && withAdapter === 0) return undefined;
  return {
    objectives: ["cross_entropy", "policy"],
    fullFineTuning: withAllWeights > 0,
    lora: {
      default: byDefault,
      maxRank,
      selectableTargets: true,
      ...(groups.length < loraTargets.length && { targetGroups: groups }),
      maxSequenceTokens: withAdapter,
      sequenceTokens: tokens,
    },
    gradientClipping: true,
    entropies: true,
    maxSequenceTokens: withAllWeights || withAdapter,
    maxOpenTrainers: trainers,
  };
}

function fits(check: () => void): boolean {
  return reasonOf(check) === undefined;
}

function reasonOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
