import type { Caller, ControlPlane, TrainingModel } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { mayRead } from "./authorize.js";

/**
 * Returns the model that a request names by its id (`project: record` in the spec). Throws `not_found` for an unknown
 * model and, in the same words, for one of a project that the caller may not read. The role that the operation needs was
 * checked before.
 */
export async function loadTrainingModel(
  control: ControlPlane,
  caller: Caller,
  modelId: string,
): Promise<TrainingModel> {
  const model = await control.trainingModels.get(modelId.toLowerCase());
  if (model !== undefined && mayRead(caller, model.project_id)) return model;
  throw new HeddleError("not_found", `no model ${modelId}`, { loc: ["model_id"] });
}
