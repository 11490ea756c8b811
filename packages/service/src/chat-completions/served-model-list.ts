import type { ControlPlane, TrainingModel } from "@heddle/control-plane";
import type { ResponseSchemas } from "@heddle/server-stub/training";
import type { BaseModelInfo } from "@heddle/training";
import type { ModelAccess } from "./completions.js";
import type { NamedModel } from "./served-models.js";

type ServedModel = ResponseSchemas["ServedModel"];

/** Trained models that are listed. */
const mostListed = 10_000;

/** Base models, then trained models, newest first. */
export async function servedModelList(
  control: ControlPlane,
  models: readonly BaseModelInfo[],
  access: ModelAccess,
): Promise<ServedModel[]> {
  const found = await control.trainingModels.search({ entity: access.entity, limit: mostListed });
  const lengths = contextLengths(models);
  return [
    ...[...lengths.keys()].map((name) => wireBase(name, lengths)),
    ...found
      .filter(({ model }) => access.mayUse(model.project_id))
      .map(({ model, newest_step: step }) => wireTrained(model, step, lengths)),
  ];
}

/** A model as it is listed; the id of a checkpoint that is not named as the newest says its step. */
export function wireServedModel(named: NamedModel, models: readonly BaseModelInfo[]): ServedModel {
  const lengths = contextLengths(models);
  if ("base" in named) return wireBase(named.base, lengths);
  const { model, checkpoint, isNewest } = named;
  const wire = wireTrained(model, checkpoint.step, lengths);
  return isNewest ? wire : { ...wire, id: `${wire.id}:step${checkpoint.step}` };
}

/** Of the base models that can be sampled from, by name. */
type ContextLengths = ReadonlyMap<string, number>;

function contextLengths(models: readonly BaseModelInfo[]): ContextLengths {
  return new Map(models.flatMap(({ name, sampling }) => (sampling ? [[name, sampling.contextLength]] : [])));
}

function wireBase(name: string, lengths: ContextLengths): ServedModel {
  return {
    id: name,
    object: "model",
    created: 0,
    owned_by: "heddle",
    root: name,
    parent: null,
    max_model_len: lengths.get(name) ?? null,
    checkpoint_step: null,
  };
}

function wireTrained(model: TrainingModel, step: number | null, lengths: ContextLengths): ServedModel {
  const { project_id, name, base_model, created_at } = model;
  return {
    id: `${project_id}/${name}`,
    object: "model",
    created: Number(created_at / 1_000_000n),
    owned_by: project_id.slice(0, project_id.indexOf("/")),
    root: base_model,
    parent: base_model,
    max_model_len: lengths.get(base_model) ?? null,
    checkpoint_step: step,
  };
}
