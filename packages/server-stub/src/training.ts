import { groups } from "./generated/training.groups.js";
import type { TrainingHandlers } from "./generated/training.handlers.js";
import { handlerGroups } from "./operations/handler-group.js";
import type { PartialHandlers } from "./operations/handlers.js";
import type { HttpServer } from "./http.js";
import { linkGroup } from "./operations/linked-group.js";
import type { LinkedGroup } from "./operations/linked-group.js";
import { readBodyText } from "./request/request-body.js";
import { createServer } from "./server.js";
import type { ServerOptions } from "./server.js";

export type * from "./generated/training.handlers.js";

const linked = new Map<string, LinkedGroup>();

/**
 * Reads JSON text as the body of an operation would be read: for a handler that cuts a streamed body into parts. Throws
 * the `Problem` that a request with this body gets.
 */
export function readBodyPart(operationId: string, text: string): unknown {
  return readBodyText(groupOf(operationId), operationId, text);
}

function groupOf(operationId: string): LinkedGroup {
  const known = linked.get(operationId);
  if (known !== undefined) return known;
  const definition = groups.find(({ operations }) => operations.some(({ id }) => id === operationId));
  if (definition === undefined) throw new TypeError(`there is no operation ${operationId}`);
  const group = linkGroup(definition);
  linked.set(operationId, group);
  return group;
}

/** A server of the training interface. Handlers are grouped as in the spec; a missing one responds with 501. */
export function createTrainingServer<Caller = unknown>(
  handlers: PartialHandlers<TrainingHandlers<Caller>>,
  options: ServerOptions<Caller> = {},
): HttpServer {
  return createServer(handlerGroups<Caller>(groups, handlers), options);
}
