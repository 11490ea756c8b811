import type { Caller, TrainingJobRecord } from "@heddle/control-plane";
import type { TrainingHandlers } from "@heddle/server-stub/training";
import { loadTrainingModel } from "../access/load-training-model.js";
import type { Services } from "../services.js";
import {
  createPreferenceJobFromCalls,
  previewPreferencesFromCalls,
} from "../trace-to-training/preference-from-calls.js";
import { createRlJobFromCalls, previewRlFromCalls } from "../trace-to-training/rl-from-calls.js";
import { createSftJobFromCalls, previewSftFromCalls } from "../trace-to-training/sft-from-calls.js";
import { wireTrainingJob } from "../wire/training-job.js";

export function traceToTrainingHandlers(services: Services): TrainingHandlers<Caller>["traceToTraining"] {
  const { control } = services;

  const wire = async (job: TrainingJobRecord) =>
    wireTrainingJob(job, job.state === "queued" ? await control.trainingJobs.position(job.id) : 0);

  return {
    async createRlTrainingJobFromCalls({ body, headers, signal }, caller) {
      const model = await loadTrainingModel(control, caller, body.model_id);
      const idempotencyKey = headers["Idempotency-Key"];
      const created = await createRlJobFromCalls(services, { caller, model, idempotencyKey, request: body, signal });
      const { job, groups, selection } = created;
      const { calls, skipped } = selection;
      return { job: await wire(job), num_calls: calls.length, num_groups: groups, artifact: null, skipped };
    },

    async previewRlTrainingJobFromCalls({ body, signal }, caller) {
      const model = await loadTrainingModel(control, caller, body.model_id);
      return await previewRlFromCalls(services, { caller, model, request: body, signal });
    },

    async previewSftTrainingJobFromCalls({ body, signal }, caller) {
      const model = await loadTrainingModel(control, caller, body.model_id);
      return await previewSftFromCalls(services, { caller, model, request: body, signal });
    },

    async createSftTrainingJobFromCalls({ body, headers, signal }, caller) {
      const model = await loadTrainingModel(control, caller, body.model_id);
      const idempotencyKey = headers["Idempotency-Key"];
      const created = await createSftJobFromCalls(services, { caller, model, idempotencyKey, request: body, signal });
      const { job, artifact, trained, selection } = created;
      const { skipped } = selection;
      return { job: await wire(job), num_calls: trained, num_groups: null, artifact, skipped };
    },

    async createPreferenceTrainingJobFromCalls({ body, headers, signal }, caller) {
      const model = await loadTrainingModel(control, caller, body.model_id);
      const idempotencyKey = headers["Idempotency-Key"];
      const request = { caller, model, idempotencyKey, request: body, signal };
      const { job, artifact, pairs, selection } = await createPreferenceJobFromCalls(services, request);
      const { calls, skipped } = selection;
      return { job: await wire(job), num_calls: calls.length, num_groups: pairs, artifact, skipped };
    },

    async previewPreferenceTrainingJobFromCalls({ body, signal }, caller) {
      const model = await loadTrainingModel(control, caller, body.model_id);
      return await previewPreferencesFromCalls(services, { caller, model, request: body, signal });
    },
  };
}
