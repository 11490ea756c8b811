import type { ClientOptions, Connection } from "./connection.js";
import { connect } from "./connection.js";
import { bindOperations } from "./bind-operations.js";
import * as operations from "./generated/training.js";
import type { TrainingClient } from "./generated/training.js";

export * from "./generated/training.js";
export * from "./errors.js";
export type { ClientOptions, Connection, RawRequestOptions, RequestOptions, ResponseInfo } from "./connection.js";
export type { RawJson } from "./raw/raw-json.js";

/** What the single operations of this module take as their first argument; see `connectTracing`. */
export function connectTraining(options: ClientOptions): Connection<"training"> {
  return connect(
    "training",
    options.apiKey && `Bearer ${options.apiKey}`,
    options,
    () => import("./generated/training-raw.js"),
  );
}

/** Every operation of the training interface as a method. */
export function createTrainingClient(options: ClientOptions): TrainingClient {
  return bindOperations<TrainingClient>(connectTraining(options), operations);
}
