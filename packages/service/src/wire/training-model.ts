import type { Checkpoint, TrainingModel } from "@heddle/control-plane";
import type { Schemas } from "@heddle/server-stub/training";
import { formatTime } from "@heddle/trace-model";
import type { BaseModelInfo, UnavailableModel } from "@heddle/training";
import { wireAdapter } from "../models/model-adapter.js";
import { splitProject } from "../access/project-id.js";

/** A stored model as the API shows it. */
export function wireModel(model: TrainingModel): Schemas["Model"] {
  const { entity = "", project = "" } = splitProject(model.project_id) ?? {};
  return {
    id: model.id,
    entity,
    project,
    name: model.name,
    base_model: model.base_model,
    lora: wireAdapter(model.lora),
    init_from: model.origin,
    run_id: model.run_id,
    inference_name: inferenceName(model),
    created_at: formatTime(model.created_at),
  };
}

/** A stored checkpoint as the API shows it. */
export function wireCheckpoint(model: TrainingModel, checkpoint: Checkpoint): Schemas["Checkpoint"] {
  const { id, step, metrics, job_id, weights_digest, parity, created_at } = checkpoint;
  return {
    id,
    step,
    metrics,
    untrained: weights_digest === null,
    job_id,
    inference_name: `${inferenceName(model)}:step${step}`,
    created_at: formatTime(created_at),
    parity: parity && { ...parity, checked_at: formatTime(parity.checked_at) },
  };
}

/** A base model of the engine as the API shows it. */
export function wireUnavailable({ name, reason }: UnavailableModel): Schemas["UnavailableModel"] {
  return { id: name, reason };
}

export function wireBaseModel(model: BaseModelInfo): Schemas["BaseModel"] {
  const { name, parameters, vocabularySize, contextLength, training, sampling } = model;
  return {
    id: name,
    object: "base_model",
    parameters: parameters ?? null,
    vocabulary_size: vocabularySize,
    context_window: contextLength,
    trainable: training !== undefined,
    sampleable: sampling !== undefined,
    full_fine_tuning: training?.fullFineTuning ?? false,
    max_lora_rank: training?.lora?.maxRank ?? null,
    max_training_tokens: training?.maxSequenceTokens ?? null,
  };
}

/** Returns a page in the envelope of the training interface. */
export function wirePage<Item extends { id: string }>(data: Item[], hasMore: boolean) {
  return {
    object: "list" as const,
    data,
    first_id: data[0]?.id ?? "",
    last_id: data.at(-1)?.id ?? "",
    has_more: hasMore,
  };
}

const inferenceName = ({ project_id, name }: TrainingModel) => `heddle-artifact:///${project_id}/${name}`;
