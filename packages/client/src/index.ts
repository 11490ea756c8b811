export { createTracingClient } from "./tracing.js";
export { createTrainingClient } from "./training.js";
export { HeddleError } from "./error.js";
export type { ClientOptions, RequestOptions } from "./connection.js";
export type { TracingClient } from "./generated/tracing.js";
export type { TrainingClient } from "./generated/training.js";
