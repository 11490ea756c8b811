import { accessOf, isKnownEarly } from "./operations/access.js";
import type { Access } from "./operations/access.js";
import { failureEvents, problemResponse, responseOf } from "./response/response.js";
import { readCredentials } from "./credentials.js";
import type { Credentials } from "./credentials.js";
import type { OperationEntry } from "./operations/definition.js";
import type { ErrorFormat } from "./response/error-body.js";
import { BodyAlreadyRead, BodyStalled, ClientDisconnected, Overloaded, ResponseTooLarge } from "./http.js";
import type { HttpRequest, HttpResponse, HttpServer, Sink, StreamBody } from "./http.js";
import type { Interceptor, RequestContext, Respond } from "./operations/interceptors.js";
import type { HandlerGroup } from "./operations/handler-group.js";
import { withSignal } from "./lazy-signal.js";
import { serveGroups } from "./operations/linked-group.js";
import { Problem } from "./problem.js";
import type { Detail } from "./problem.js";
import { readRequestBody } from "./request/request-body.js";
import { readParameters } from "./request/parameters.js";
import { requestRouter } from "./operations/request-router.js";
import type { Routed } from "./operations/request-router.js";

export interface ServerOptions<Caller> {
  /**
   * Who is asking? Throws a Problem of 401 or 403. Not called for operations that need no credential.
   * Without it every request is let in, and handlers get `undefined` as caller.
   */
  authenticate?: (credentials: Credentials, request: HttpRequest) => Caller | Promise<Caller>;
  /**
   * Throws a Problem of 403 when the caller lacks the right that the spec declares for the operation. Called before the
   * body is read where parameters name the project, otherwise before the handler. Not called for public operations.
   */
  authorize?: (access: Access, caller: Caller) => void | Promise<void>;
  /** Called when a handler returned, before the response is sent. Its error is the response. */
  onSuccess?: (access: Access, caller: Caller) => Promise<void> | undefined | void;
  /**
   * Returns what an error other than a Problem means to the client; `undefined` is a 500 without a reason. The
   * operation is absent for errors outside of one. Also called for errors after the first item of a stream, whose
   * response has begun.
   */
  onError?: (error: unknown, request: HttpRequest, operation?: OperationEntry) => Problem | undefined;
  /**
   * Called with a JSON body that does not fit the schema of the operation, and what is wrong with it. Returns what a handler
   * would find wrong besides, so that the client learns of all at once.
   */
  furtherMistakes?: (operation: OperationEntry, body: unknown, details: readonly Detail[]) => readonly Detail[];
  /**
   * Most UTF-16 units of a JSON response that is not streamed. A longer one is a `ResponseTooLarge`, which becomes 413
   * where `onError` knows nothing better. Default 67,108,864.
   */
  maxResponseLength?: number;
  /**
   * Called before a long JSON response is sent, with the UTF-16 units that it holds in memory until it is written. Its
   * error is the response.
   */
  reserve?: (length: number) => void | Promise<void>;
  /** Called around the work on every request that this server responds to, the first outermost. */
  interceptors?: readonly Interceptor<Caller>[];
  /**
   * Check every response against the spec, and respond with 500 when it does not fit. For tests. Of
   * `createTracingServer` and `createTrainingServer` only: single groups come without the checks.
   */
  validateResponses?: boolean;
  /** Paths under which everything is served a second time: `["/traces"]`. */
  prefixes?: readonly string[];
  /** The server of paths that this interface does not know. Default: 404. */
  fallback?: HttpServer;
}

const defaultMaxResponseLength = 64 * 1024 * 1024;

type Handler = (request: object, caller: unknown) => unknown;

/**
 * A server of some groups of one interface. A program that imports only these groups is bundled without the others,
 * whose paths get 404. README.md holds the table of outcomes.
 *
 * ```ts
 * import { calls } from "@heddle/server-stub/tracing/calls";
 * const server = createServer([calls({ callRead: async ({ body }) => ({ call: await read(body.id) }) })]);
 * ```
 */
export function createServer<Caller>(
  groups: readonly HandlerGroup<Caller>[],
  options: ServerOptions<Caller> = {},
): HttpServer {
  // route → authenticate → read → validate → authorize → handler → respond
  const { interface: kind, served } = serveGroups(groups, options.validateResponses === true);
  const { fallback } = options;
  const operations = [...served.values()].flatMap((group) => group.operations);
  const route = requestRouter<Caller>(operations, options.prefixes);

  async function run(request: HttpRequest, entry: OperationEntry, context: Routed<Caller>) {
    const { params, query } = context;
    const caller = entry.public ? undefined : await options.authenticate?.(readCredentials(request), request);
    context.caller = caller;
    const group = served.get(entry.group);
    const handler = group?.handlers[entry.id];
    if (group === undefined || typeof handler !== "function")
      throw new Problem(501, `${entry.id} is not implemented here`);
    const { validators, responseValidators } = group;
    const { access } = entry;
    const search = entry.query && new URLSearchParams(query);
    const mistakes: Detail[] = [];
    const read = (location: "path" | "query" | "header", from: (name: string) => string[]) => {
      const parameters = entry[location];
      return parameters ? readParameters(location, parameters, validators, from, mistakes) : none;
    };
    const parameters = {
      params: read("path", (name) => list(params[name])),
      query: read("query", (name) => search?.getAll(name) ?? []),
      headers: read("header", (name) => list(request.header(name.toLowerCase()))),
    };
    if (mistakes.length > 0) throw Problem.invalid(mistakes);
    let needed: Access | undefined;
    if (access !== undefined && isKnownEarly(access)) {
      needed = context.access = accessOf(entry, access, parameters);
      const authorized = options.authorize?.(needed, caller as Caller);
      if (authorized !== undefined) await authorized;
    }
    const further = options.furtherMistakes?.bind(undefined, entry);
    const body = entry.body && (await readRequestBody(request, entry.body, group, further));
    if (access !== undefined && needed === undefined) {
      needed = context.access = accessOf(entry, access, { ...parameters, body });
      const authorized = options.authorize?.(needed, caller as Caller);
      if (authorized !== undefined) await authorized;
    }
    const incoming = { ...parameters, body, requestId: request.id, remoteAddress: request.remoteAddress };
    withSignal(incoming, () => request.signal);
    const result = await (handler as Handler).call(group.handlers, incoming, caller);
    const recorded = needed === undefined ? undefined : options.onSuccess?.(needed, caller as Caller);
    if (recorded !== undefined) await recorded;
    const responding = responseOf(result, entry, request, {
      validators: responseValidators && (await responseValidators),
      maxLength: options.maxResponseLength ?? defaultMaxResponseLength,
    });
    const response = responding instanceof Promise ? await responding : responding;
    if (response.held !== undefined) await options.reserve?.(response.held);
    return response;
  }

  /** A client that disconnects before its request is complete is not an error of the server. */
  function problemOf(error: unknown, request: HttpRequest, entry: OperationEntry | undefined): Problem {
    if (error instanceof Problem) return error;
    if (error instanceof ClientDisconnected) return disconnected;
    const problem = options.onError?.(error, request, entry);
    if (problem !== undefined) return problem;
    return error instanceof ResponseTooLarge ? new Problem(413, error.message) : (refusalOf(error) ?? unexpected);
  }

  function formatOf(entry: OperationEntry | undefined): ErrorFormat {
    // Clients of the OpenAI API meet unknown paths when their base URL is not right.
    return { interface: kind, errorObject: entry === undefined ? kind === "training" : entry.errorObject === true };
  }

  /**
   * Reports an error after the first item of a stream to `onError`. The response has begun: its status cannot carry the
   * error. Where errors have the error object, the last event does; otherwise the response is cut off.
   */
  function withErrorReport(
    response: HttpResponse,
    request: HttpRequest,
    entry: OperationEntry,
    context: Routed<Caller>,
  ): HttpResponse {
    const { body } = response;
    if (typeof body !== "function") return response;
    const reporting: StreamBody = (sink) =>
      body(sink).catch(async (error: unknown) => {
        context.error = error;
        const problem = problemOf(error, request, entry);
        if (entry.errorObject !== true || entry.response.stream !== "sse") throw error;
        if (!sink.closed) await sink.write(failureEvents(problem, formatOf(entry)));
      });
    return { ...response, body: reporting };
  }

  function failed(error: unknown, request: HttpRequest, entry: OperationEntry | undefined): HttpResponse {
    const unread = entry?.body?.streamed === true;
    return withoutBody(request, problemResponse(problemOf(error, request, entry), formatOf(entry), { unread }));
  }

  async function respond(request: HttpRequest, known: RequestContext<Caller>): Promise<HttpResponse> {
    const context = known as Routed<Caller>;
    const { operation: entry } = context;
    try {
      if (entry === undefined) throw context.refusal;
      return withoutBody(request, withErrorReport(await run(request, entry, context), request, entry, context));
    } catch (error) {
      context.error = error;
      return failed(error, request, entry);
    }
  }

  const outermost = (options.interceptors ?? []).reduceRight<Respond<Caller>>(
    (next, interceptor) => interceptor(next),
    respond,
  );
  return async (request) => {
    const context = route(request);
    try {
      if (context.isUnknown && fallback !== undefined) return await fallback(request);
      return await outermost(request, context);
    } catch (error) {
      return failed(error, request, context.operation);
    }
  };
}

const none = Object.freeze({});
const disconnected = new Problem(400, "the client disconnected");
const unexpected = new Problem(500, "Internal server error");

/** What the adapter cannot do for want of memory, time or the body, where `onError` knows nothing better. */
function refusalOf(error: unknown): Problem | undefined {
  if (error instanceof Overloaded)
    return new Problem(503, error.message, { headers: { "retry-after": "1", connection: "close" } });
  if (error instanceof BodyStalled) return new Problem(408, error.message);
  return error instanceof BodyAlreadyRead ? new Problem(500, error.message) : undefined;
}

function list(value: string | undefined): string[] {
  return value === undefined ? [] : [value];
}

/** HEAD: the status and headers of the response to GET. */
function withoutBody(request: HttpRequest, response: HttpResponse): HttpResponse {
  if (request.method !== "HEAD") return response;
  if (typeof response.body === "function") response.body(disconnectedSink).catch(() => {});
  return { status: response.status, headers: response.headers };
}

/** A client that is already disconnected: a stream written to it stops at once. */
const disconnectedSink: Sink = { closed: true, write: () => undefined, onClose: (callback) => callback() };
