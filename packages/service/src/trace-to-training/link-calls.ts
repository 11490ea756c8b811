import type { Caller, TrainingJobRecord, TrainingModel } from "@heddle/control-plane";
import { derivedId, formatRef, trainingJobType } from "@heddle/trace-model";
import { splitProject } from "../access/project-id.js";
import type { TraceStore } from "@heddle/trace-store";
import type { SelectedCall } from "./select-calls.js";

const batchSize = 500;

/**
 * Adds feedback that names the job to each of its calls. Called again for the same job, it adds nothing; calls that the job
 * does not have, because an equal request was made of others, get none.
 */
export async function linkCalls(
  { store }: { store: TraceStore },
  caller: Caller,
  { job, model, calls }: { job: TrainingJobRecord; model: TrainingModel; calls: readonly SelectedCall[] },
): Promise<void> {
  const { project_id } = job;
  const { entity = "", project = "" } = splitProject(project_id) ?? {};
  const about = { job_id: job.id, model_id: model.id, model: model.name, kind: job.kind };
  const ids = new Set(job.call_ids);
  const feedback = calls
    .filter(({ id }) => ids.has(id))
    .map(({ id, reward = null }) => ({
      project_id,
      id: derivedId(project_id, job.id, 0, id),
      weave_ref: formatRef({ kind: "call", entity, project, id, edges: [] }),
      feedback_type: trainingJobType,
      payload: JSON.stringify({ ...about, reward }),
      wb_user_id: caller.user_id,
    }));
  for (let from = 0; from < feedback.length; from += batchSize) {
    await store.feedback.createBatch(feedback.slice(from, from + batchSize));
  }
}
