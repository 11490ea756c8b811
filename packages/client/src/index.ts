export { createTracingClient } from "./tracing.js";
export { createTrainingClient } from "./training.js";
export * from "./errors.js";
export type { ClientOptions, RequestOptions, ResponseInfo } from "./connection.js";
export type { TracingClient } from "./generated/tracing.js";
export type { TrainingClient } from "./generated/training.js";
