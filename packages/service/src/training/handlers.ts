import type { TrainingHandlers } from "@heddle/server-stub/training";
import type { Caller, Services } from "../services.js";
import { artifactHandlers } from "./artifacts.js";
import { chatCompletionHandlers, servedModelHandlers } from "./chat-completions.js";
import { checkpointHandlers } from "./checkpoints.js";
import { healthHandlers } from "./health.js";
import { trainingJobHandlers } from "./training-jobs.js";
import { modelHandlers } from "./models.js";
import { traceToTrainingHandlers } from "./trace-to-training.js";

/** Every operation of the training interface, by group: a group of the spec without handlers does not compile. */
export function trainingHandlers(services: Services): TrainingHandlers<Caller> {
  return {
    artifacts: artifactHandlers(services),
    chatCompletions: chatCompletionHandlers(services),
    servedModels: servedModelHandlers(services),
    models: modelHandlers(services),
    checkpoints: checkpointHandlers(services),
    trainingJobs: trainingJobHandlers(services),
    traceToTraining: traceToTrainingHandlers(services),
    health: healthHandlers(services),
  };
}
