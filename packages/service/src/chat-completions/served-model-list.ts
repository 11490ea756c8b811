import type { ControlPlane } from "@heddle/control-plane";
import type { ResponseSchemas } from "@heddle/server-stub/training";
import type { BaseModelInfo } from "@heddle/training";
import type { ModelAccess } from "./completions.js";

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
  const contextLengths = new Map(
    models.flatMap(({ name, sampling }) => (sampling ? [[name, sampling.contextLength]] : [])),
  );
  return [
    ...[...contextLengths].map(([name, contextLength]) => ({
      id: name,
      object: "model" as const,
      created: 0,
      owned_by: "heddle",
      root: name,
      parent: null,
      max_model_len: contextLength,
      checkpoint_step: null,
    })),
    ...found
      .filter(({ model }) => access.mayUse(model.project_id))
      .map(({ model: { project_id, name, base_model, created_at }, newest_step }) => ({
        id: `${project_id}/${name}`,
        object: "model" as const,
        created: Number(created_at / 1_000_000n),
        owned_by: project_id.slice(0, project_id.indexOf("/")),
        root: base_model,
        parent: base_model,
        max_model_len: contextLengths.get(base_model) ?? null,
        checkpoint_step: newest_step,
      })),
  ];
}
