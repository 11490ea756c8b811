import type { Caller, TrainingModel } from "@heddle/control-plane";
import type { ResponseSchemas } from "@heddle/server-stub/training";
import type { TrainingEngine, WeightsRef } from "@heddle/training";
import type { Config } from "../config/config.js";
import { newAdapter } from "../models/model-adapter.js";
import type { FromCallsServices } from "./from-calls-services.js";

export type TrainingPreview = ResponseSchemas["TrainingPreview"];

export interface PreviewServices extends FromCallsServices {
  config: FromCallsServices["config"] & Pick<Config, "loraRank">;
  training: TrainingEngine;
}

/** The base model that a job of the model begins with; its adapter decides how long sequences may be. */
export async function baseModelOf(
  services: PreviewServices,
  model: TrainingModel,
  { caller, signal }: { caller: Caller; signal: AbortSignal },
) {
  const { control, training: engine } = services;
  const newest = await control.trainingModels.checkpoints.newest(model.id);
  const isTrained = newest !== undefined && newest.weights_digest !== null;
  const from: WeightsRef = { baseModel: model.base_model };
  const sharer = { key: caller.key_id, entity: caller.entity };
  const fromStep = newest?.step ?? 0;
  return { engine, from, fromStep, signal, sharer, ...(!isTrained && (await newAdapter(services, model))) };
}
