import { HeddleError } from "@heddle/errors";
import type { TrainingHandlers } from "@heddle/server-stub/training";
import { splitMetrics } from "@heddle/training";
import { loadTrainingModel } from "../access/load-training-model.js";
import type { Caller, Services } from "../services.js";
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
