import { definition } from "./generated/training.operations.js";
import type { TrainingHandlers } from "./generated/training.handlers.js";
import type { PartialHandlers } from "./handlers.js";
import type { HttpServer } from "./http.js";
import { createServer } from "./server.js";
import type { ServerOptions } from "./server.js";

export type * from "./generated/training.handlers.js";

/** A server of the training interface. Handlers are grouped as in the spec; a missing one responds with 501. */
export function createTrainingServer<Caller = unknown>(
  handlers: PartialHandlers<TrainingHandlers<Caller>>,
  options: ServerOptions<Caller> = {},
): HttpServer {
  return createServer(definition, handlers, options);
}
