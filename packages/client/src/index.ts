export { createTracingClient } from "./tracing.js";
export { createTrainingClient } from "./training.js";
export * from "./errors.js";
export type { ClientOptions, RawRequestOptions, RequestOptions, ResponseInfo } from "./connection.js";
export type { RawJson } from "./raw/raw-json.js";
export type { TracingClient } from "./generated/tracing.js";
export type { TrainingClient } from "./generated/training.js";
