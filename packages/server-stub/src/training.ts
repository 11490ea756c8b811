import { definition } from "./generated/training.operations.js";
import type { TrainingHandlers } from "./generated/training.handlers.js";
import type { PartialHandlers } from "./handlers.js";
import { linkPlans } from "./json-plan.js";
import type { Plan } from "./json-plan.js";
import type { HttpServer } from "./http.js";
import { readBodyText } from "./request-body.js";
import { createServer } from "./server.js";
import type { ServerOptions } from "./server.js";

export type * from "./generated/training.handlers.js";

let plans: readonly Plan[] | undefined;

/**
 * Reads JSON text as the body of an operation would be read: for a handler that cuts a streamed body into parts. Throws
 * the `Problem` that a request with this body gets.
 */
export function readBodyPart(operationId: string, text: string): unknown {
  plans ??= linkPlans(definition.plans, definition.validators);
  return readBodyText(definition, plans, operationId, text);
}

/** A server of the training interface. Handlers are grouped as in the spec; a missing one responds with 501. */
export function createTrainingServer<Caller = unknown>(
  handlers: PartialHandlers<TrainingHandlers<Caller>>,
  options: ServerOptions<Caller> = {},
): HttpServer {
  return createServer(definition, handlers, options);
}
