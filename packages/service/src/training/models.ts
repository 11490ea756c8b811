import { randomUUID } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { TrainingHandlers } from "@heddle/server-stub/training";
import { newId } from "@heddle/trace-model";
import { loadTrainingModel } from "../access/load-training-model.js";
import type { Caller, Services } from "../services.js";
import { readModelHistory } from "../model-history/read-model-history.js";
import { deleteModel } from "../checkpoints/delete-model.js";
import { wireBaseModel, wireModel, wirePage, wireUnavailable } from "../wire/training-model.js";

export function modelHandlers(services: Services): TrainingHandlers<Caller>["models"] {
  const { control, training } = services;
  const models = control.trainingModels;

  return {
    async createModel({ body }, caller) {
      const { entity = caller.entity, project, name, base_model, return_existing } = body;
      const projectId = `${entity}/${project}`;
      const existing = await models.find(projectId, name);
      if (existing === undefined) await checkBaseModel(base_model);
      const result = existing && { model: existing, created: false };
      const { model, created } =
        result ??
        (await models.create({
          id: newId(),
          checkpoint_id: newId(),
          project_id: projectId,
          name,
          base_model,
          run_id: randomUUID().slice(0, 8),
          created_by: caller.user_id,
        }));
      if (!created && (!return_existing || model.base_model !== base_model)) {
        const mismatch = model.base_model === base_model ? "" : `, not ${base_model}`;
        const found = `the project ${projectId} has a model ${name} with the base model ${model.base_model}`;
        throw new HeddleError("conflict", found + mismatch, { loc: ["name"] });
      }
      return wireModel(model);
    },

    async listModels({ query }) {
      const { project_id, after, limit } = query;
      const page = await models.list(project_id, { after, limit });
      return wirePage(page.models.map(wireModel), page.has_more);
    },

    async getModel({ params }, caller) {
      return wireModel(await loadTrainingModel(control, caller, params.model_id));
    },

    async modelHistory({ params, query, signal }, caller) {
      const model = await loadTrainingModel(control, caller, params.model_id);
      return await readModelHistory(control, model, query, signal);
    },

    async deleteModel({ params }, caller) {
      const model = await loadTrainingModel(control, caller, params.model_id);
      return { model_id: model.id, ...(await deleteModel(services, model)) };
    },

    async listBaseModels() {
      const { models, unavailableModels } = await training.capabilities();
      const data = models.map(wireBaseModel).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      return { object: "list", data, unavailable: unavailableModels.map(wireUnavailable) };
    },
  };

  async function checkBaseModel(name: string): Promise<void> {
    const { models: known, unavailableModels } = await training.capabilities();
    const trainable = known.filter((model) => model.training !== undefined).map((model) => model.name);
    if (trainable.includes(name)) return;
    const reason = unavailableModels.find((model) => model.name === name)?.reason;
    const unusable = reason === undefined ? "is unknown" : `cannot be used: ${reason}`;
    const problem = known.some((model) => model.name === name) ? "cannot be trained" : unusable;
    const message = `the base model ${JSON.stringify(name)} ${problem}; this service trains ${trainable.toSorted().join(", ")}`;
    throw new HeddleError("unprocessable", message, { loc: ["base_model"] });
  }
}
