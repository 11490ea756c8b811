import { groups } from "./generated/tracing.groups.js";
import type { TracingHandlers } from "./generated/tracing.handlers.js";
import type { OperationEntry } from "./operations/definition.js";
import { handlerGroups } from "./operations/handler-group.js";
import type { PartialHandlers } from "./operations/handlers.js";
import type { HttpServer } from "./http.js";
import { createServer } from "./server.js";
import type { ServerOptions } from "./server.js";

export type * from "./generated/tracing.handlers.js";

/**
 * Returns whether a value has the form of the JSON response of an operation. The checks of responses are loaded at the
 * first call.
 */
export async function fitsResponse(operationId: string, value: unknown): Promise<boolean> {
  const group = groups.find(({ operations }) => operations.some(({ id }) => id === operationId));
  const name = group?.operations.find(({ id }) => id === operationId)?.response.validator;
  const validator = name === undefined ? undefined : (await group?.responseValidators?.())?.[name];
  if (validator === undefined) throw new TypeError(`${operationId} has no JSON response`);
  return validator(value);
}

/** Every operation of the tracing interface. */
export function tracingOperations(): readonly OperationEntry[] {
  return groups.flatMap(({ operations }) => operations);
}

/**
 * A server of the tracing interface. Handlers are grouped as in the spec; a missing one responds with 501.
 *
 * ```ts
 * const server = createTracingServer({ calls: { callRead: async ({ body }) => ({ call: await read(body.id) }) } });
 * await listen(server, { port: 4680 });
 * ```
 */
export function createTracingServer<Caller = unknown>(
  handlers: PartialHandlers<TracingHandlers<Caller>>,
  options: ServerOptions<Caller> = {},
): HttpServer {
  return createServer(handlerGroups<Caller>(groups, handlers), options);
}
