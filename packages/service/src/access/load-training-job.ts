import type { Caller, ControlPlane, TrainingJobRecord } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { mayRead } from "./authorize.js";

/**
 * Returns the training job that a request names by its id (`project: record` in the spec). Throws `not_found` for an
 * unknown job, one whose model was deleted and, in the same words, one of a project that the caller may not read. The role
 * that the operation needs was checked before.
 */
export async function loadTrainingJob(
  control: ControlPlane,
  caller: Caller,
  jobId: string,
): Promise<TrainingJobRecord> {
  const job = await control.trainingJobs.get(jobId.toLowerCase());
  if (job !== undefined && mayRead(caller, job.project_id)) {
    if ((await control.trainingModels.get(job.model_id)) !== undefined) return job;
  }
  throw new HeddleError("not_found", `no training job ${jobId}`, { loc: ["training_job_id"] });
}
