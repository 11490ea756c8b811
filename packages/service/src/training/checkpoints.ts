import { HeddleError } from "@heddle/errors";
import { reply } from "@heddle/server-stub";
import type { TrainingHandlers } from "@heddle/server-stub/training";
import { splitMetrics } from "@heddle/training";
import { loadTrainingModel } from "../access/load-training-model.js";
import type { Caller, Services } from "../services.js";
import { exportCheckpoint } from "../checkpoints/export-checkpoint.js";
import { purgeCheckpoints } from "../checkpoints/purge-checkpoints.js";
import { wireCheckpoint, wirePage } from "../wire/training-model.js";

export function checkpointHandlers(services: Services): TrainingHandlers<Caller>["checkpoints"] {
  const { control } = services;
  const { checkpoints } = control.trainingModels;

  return {
    async listModelCheckpoints({ params, query }, caller) {
      const model = await loadTrainingModel(control, caller, params.model_id);
      const page = await checkpoints.page(model.id, query);
      return wirePage(
        page.checkpoints.map((checkpoint) => wireCheckpoint(model, checkpoint)),
        page.has_more,
      );
    },

    async deleteModelCheckpoints({ params, body }, caller) {
      const model = await loadTrainingModel(control, caller, params.model_id);
      const steps = [...new Set(body.steps)];
      const deleted = new Set((await checkpoints.delete(model.id, steps)).map(({ step }) => step));
      await purgeCheckpoints(services, model.id);
      return { deleted_count: deleted.size, not_found_steps: steps.filter((step) => !deleted.has(step)) };
    },

    async exportModelCheckpoint({ params, query, signal }, caller) {
      const model = await loadTrainingModel(control, caller, params.model_id);
      const checkpoint = await checkpoints.atStep(model.id, params.step);
      if (checkpoint === undefined)
        throw new HeddleError("not_found", `the model has no checkpoint of step ${params.step}`, { loc: ["step"] });
      const { format: layout, dtype } = query;
      const format = dtype === "float32" ? ("f32" as const) : ("bf16" as const);
      const { bytes, parts } = await exportCheckpoint(services, model, checkpoint, { layout, format, signal });
      return reply(200, parts, { "content-length": String(bytes) });
    },

    async logModelTrajectories({ params, body }, caller) {
      const model = await loadTrainingModel(control, caller, params.model_id);
      const metrics = splitMetrics(body);
      const newest = await checkpoints.newest(model.id);
      if (newest === undefined) throw new HeddleError("conflict", "the model has no checkpoint");
      await checkpoints.mergeMetrics(newest.id, metrics);
      return { step: newest.step, metrics };
    },
  };
}
