export { createTracingClient } from "./tracing.js";
export { createTrainingClient } from "./training.js";
export { HeddleApiError } from "./error.js";
export type { ClientOptions, RequestOptions } from "./connection.js";
export type { TracingClient } from "./generated/tracing.js";
export type { TrainingClient } from "./generated/training.js";
