import { randomUUID } from "node:crypto";
import type { ModelAdapter, TrainingModel } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { Schemas, TrainingHandlers } from "@heddle/server-stub/training";
import { newId } from "@heddle/trace-model";
import { loadTrainingModel } from "../access/load-training-model.js";
import type { Caller, Services } from "../services.js";
import { readModelHistory } from "../model-history/read-model-history.js";
import { deleteModel } from "../checkpoints/delete-model.js";
import { describeAdapter, requestedAdapter, sameAdapter } from "../models/model-adapter.js";
import { initialWeights } from "../models/model-origin.js";
import { untrainedAdapter } from "../models/untrained-adapter.js";
import { wireBaseModel, wireModel, wirePage, wireUnavailable } from "../wire/training-model.js";

function exists({ project_id, name, base_model }: TrainingModel, instead = ""): HeddleError {
  const found = `the project ${project_id} has a model ${name} with the base model ${base_model}`;
  return new HeddleError("conflict", found + instead, { loc: ["name"] });
}

/** The weights of a model are an artifact of its name, which another one may have. */
function ofArtifact(error: unknown, name: string): unknown {
  if (!(error instanceof HeddleError) || error.code !== "conflict" || error.loc?.[0] !== "type") return error;
  return error.with({ message: `${error.message}: choose another name than ${name} for the model`, loc: ["name"] });
}

/** Throws `conflict` for a model that is not the one that the request would make. */
function asRequested(
  model: TrainingModel,
  { base_model, init_from }: Pick<Schemas["CreateModelReq"], "base_model" | "init_from">,
  adapter: ModelAdapter | undefined,
): TrainingModel {
  if (model.base_model !== base_model) throw exists(model, `, not ${base_model}`);
  if (adapter !== undefined && !sameAdapter(model.lora, adapter)) {
    const own = model.lora === null ? "the default adapter" : `an adapter of ${describeAdapter(model.lora)}`;
    throw exists(model, ` and ${own}, not ${describeAdapter(adapter)}`);
  }
  const { origin } = model;
  const source = origin !== null && "model_id" in origin ? origin : undefined;
  const isOther =
    init_from?.model_id !== undefined &&
    (source?.model_id !== init_from.model_id.toLowerCase() || source.step !== (init_from.step ?? source.step));
  if (isOther) throw exists(model, " that does not begin with that checkpoint");
  return model;
}

export function modelHandlers(services: Services): TrainingHandlers<Caller>["models"] {
  const { control, training } = services;
  const models = control.trainingModels;

  return {
    async createModel({ body }, caller) {
      const { entity = caller.entity, project, name, base_model, return_existing, lora, init_from } = body;
      const projectId = `${entity}/${project}`;
      const existing = await models.find(projectId, name);
      if (existing !== undefined && !return_existing) throw exists(existing);
      await checkBaseModel(base_model, existing);
      const adapter = lora && (await requestedAdapter(services, base_model, lora));
      if (existing !== undefined) return wireModel(asRequested(existing, body, adapter));
      const wanted = { projectId, baseModel: base_model, lora: adapter };
      const begun = init_from && (await initialWeights(services, caller, init_from, wanted));
      const chosen = begun?.lora ?? adapter ?? null;
      const untrained =
        begun?.weights === undefined
          ? await untrainedAdapter(services, { projectId, baseModel: base_model, lora: chosen })
          : undefined;
      const createNew = models.create({
        lora: adapter ?? null,
        ...begun,
        untrained,
        id: newId(),
        checkpoint_id: newId(),
        project_id: projectId,
        name,
        base_model,
        run_id: randomUUID().slice(0, 8),
        created_by: caller.user_id,
      });
      const { model, created } = await createNew.catch((error: unknown) => {
        throw ofArtifact(error, name);
      });
      if (created) return wireModel(model);
      if (!return_existing) throw exists(model);
      return wireModel(asRequested(model, body, adapter));
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

  async function checkBaseModel(name: string, existing: TrainingModel | undefined): Promise<void> {
    // The model keeps its base model although it cannot be used now.
    if (existing !== undefined) return;
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
