import type { ControlPlane, TrainingModel } from "@heddle/control-plane";
import type { JobQueue } from "../jobs/runner.js";
import { purgeCheckpoints } from "./purge-checkpoints.js";

/**
 * Deletes a model: no request finds it any more, its jobs end with `training_failed`, and its artifact versions are
 * deleted with its rollouts and the tracking run. Throws `not_found` if another request was faster.
 */
export async function deleteModel(
  services: { control: ControlPlane; jobs: JobQueue },
  model: TrainingModel,
): Promise<{ deleted_checkpoints: number; deleted_run: boolean }> {
  const { control, jobs } = services;
  const deleted = await control.trainingModels.delete(model.id);
  const failure = { state: "cancelled", error_message: "the model was deleted", error_type: "model_deleted" } as const;
  const ended = await control.trainingJobs.fail({ model_id: model.id }, failure);
  await jobs.cancel(model.project_id, ended);
  await control.trainingJobs.rollouts.deleteOfModel(model.id);
  await purgeCheckpoints(services, model.id);
  const deletedRun = await control.trackingRuns.delete(model.project_id, model.run_id);
  return { ...deleted, deleted_run: deletedRun };
}
