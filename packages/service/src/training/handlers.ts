import type { TrainingHandlers } from "@heddle/server-stub/training";
import type { Caller, Services } from "../services.js";
import { artifactHandlers } from "./artifacts.js";
import { healthHandlers } from "./health.js";

/** Every operation of the training interface, by group: a group of the spec without handlers does not compile. */
export function trainingHandlers(services: Services): TrainingHandlers<Caller> {
  return { artifacts: artifactHandlers(services), health: healthHandlers(services) };
}
