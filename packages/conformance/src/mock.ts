import type { HttpRequest, HttpResponse, HttpServer, ServerOptions } from "@heddle/server-stub";
import { createTracingServer } from "@heddle/server-stub/tracing";
import { createTrainingServer } from "@heddle/server-stub/training";
import { tracing } from "./generated/tracing.js";
import { training } from "./generated/training.js";
import type { Plan, PlanOperation } from "./plan.js";

type Handler = (request: { body?: unknown }) => unknown;
type Handlers = Record<string, Record<string, Handler>>;

/**
 * A server that responds to every operation with the example of the spec, after checking the request as the service does.
 * Any key is accepted, and none is needed; nothing is stored. Pages of every origin may use it.
 */
export function createMockServer({ validateResponses = false }: { validateResponses?: boolean } = {}): HttpServer {
  const options: ServerOptions<unknown> = { validateResponses };
  const fallback = createTracingServer(handlersOf(tracing), { ...options, prefixes: ["/traces"] });
  return openToOrigins(createTrainingServer(handlersOf(training), { ...options, fallback }));
}

/** How many operations the mock server has. */
export const mockOperations = tracing.operations.length + training.operations.length;

function handlersOf({ operations }: Plan): Handlers {
  const handlers: Handlers = {};
  for (const operation of operations) {
    const group = (handlers[operation.group] ??= {});
    group[operation.id] = handlerOf(operation);
  }
  return handlers;
}

function handlerOf({ responses, success, response, stream, streamOptional, item }: PlanOperation): Handler {
  const [content] = responses[success]?.contents ?? [];
  const streamed = async function* () {
    yield item;
  };
  if (stream !== undefined && !streamOptional) return streamed;
  if (stream !== undefined) {
    return ({ body }) => ((body as { stream?: boolean } | undefined)?.stream === true ? streamed() : response);
  }
  return content?.kind === "bytes"
    ? () => new TextEncoder().encode(typeof response === "string" ? response : "")
    : () => response;
}

const methods = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** Lets pages of all origins send everything and read the responses. There is nothing to protect: no data and no keys. */
function openToOrigins(next: HttpServer): HttpServer {
  const withOrigin = (response: HttpResponse): HttpResponse => ({
    ...response,
    headers: { ...response.headers, "access-control-allow-origin": "*", "access-control-expose-headers": "*" },
  });
  const isPreflight = (request: HttpRequest) =>
    request.method === "OPTIONS" && request.header("access-control-request-method") !== undefined;
  return async (request) => {
    if (!isPreflight(request)) return withOrigin(await next(request));
    const headers = {
      "access-control-allow-methods": methods,
      // A wildcard would not include Authorization.
      "access-control-allow-headers": request.header("access-control-request-headers") ?? "*",
      "access-control-max-age": "600",
    };
    return withOrigin({ status: 204, headers });
  };
}
