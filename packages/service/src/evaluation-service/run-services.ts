import type { ControlPlane } from "@heddle/control-plane";
import type { Config } from "../config/config.js";
import type { ObjectStores } from "../objects/object-stores.js";
import type { ModelBackends } from "../runnable-objects/model-backends.js";

/** What the runs of evaluations use. */
export interface RunServices extends ObjectStores, ModelBackends {
  control: Pick<ControlPlane, "webhooks">;
  config: Pick<
    Config,
    "evaluationComputingMs" | "evaluationConcurrency" | "evaluationMaxPredictions" | "evaluationTimeoutMs"
  >;
}
