import { HeddleError } from "@heddle/errors";
import { guardOrigins } from "@heddle/server-stub";
import type { HttpRequest, HttpServer, Interceptor, OperationEntry, Problem, ServerOptions } from "@heddle/server-stub";
import { createTracingServer } from "@heddle/server-stub/tracing";
import { createTrainingServer } from "@heddle/server-stub/training";
import { authenticate } from "../access/authenticate.js";
import { authorize, checkNotDeleted, checkUsable, recordProject } from "../access/authorize.js";
import { reportUnknownProject } from "../access/unknown-project.js";
import type { Metrics } from "../observability/metrics.js";
import { firstLine } from "../operations/outages.js";
import { currentScope, enterRoute } from "../limits/request-scope.js";
import { openTurns } from "../limits/shares.js";
import { problemOf } from "../http/problems.js";
import { queryMistakes } from "../http/query-mistakes.js";
import { routes } from "./routes.js";
import type { Site } from "./routes.js";
import { openRoutes, serveRoutes } from "../http/serve-routes.js";
import { keepSecretsWhole } from "../http/secret-responses.js";
import { reportUnknownParameters } from "../http/unknown-parameters.js";
import type { Caller, Services } from "../services.js";
import { guardLogIns, guardSessions } from "../sessions/guard-sessions.js";
import { tracingHandlers } from "../tracing/handlers.js";
import { trainingHandlers } from "../training/handlers.js";

export interface AppOptions {
  /** The built documentation, or undefined where there is none (tests). */
  docsDir?: string;
  /** The built console, or undefined where it is not served. */
  consoleDir?: string | undefined;
  /** The packages for programs that use the service, or undefined where it does not serve them (tests). */
  packagesDir?: string | undefined;
  /** Served at `/metrics`, for admin keys. */
  metrics?: Metrics | undefined;
  /** Checks every response against the spec: on in tests. */
  validateResponses?: boolean;
  /** Called with each error that becomes a 500. */
  onUnexpected?: (error: unknown) => void;
  /** Called with each error of a store that becomes a 503, or a 500 for data that is corrupt. */
  onOutage?: (error: Error) => void;
}

/**
 * Serves everything on the one port: both interfaces, and the routes that the spec does not describe. Needs requests
 * with a scope.
 */
export function createApp(
  services: Services,
  { docsDir, consoleDir, packagesDir, metrics, validateResponses, onUnexpected, onOutage }: AppOptions = {},
): HttpServer {
  const onError = (error: unknown, _request?: HttpRequest, operation?: OperationEntry): Problem | undefined => {
    const problem = problemOf(error, operation);
    if (error instanceof HeddleError && error.code === "corrupt") reportCorrupt(services, error, operation);
    if (problem === undefined) onUnexpected?.(error);
    else if (problem.status >= 500 && error instanceof Error) onOutage?.(error);
    return problem;
  };
  const { limits } = services.config;
  const options: ServerOptions<Caller> = {
    authenticate: (_, request) => authenticate(services, request),
    authorize(access, caller) {
      authorize(access, caller);
      checkNotDeleted(services.control, access, caller);
    },
    onSuccess: (access, caller) => recordProject(services.control, access, caller),
    onError,
    furtherMistakes: queryMistakes,
    interceptors: [
      noteOperation,
      guardLogIns(services.config.publicUrls),
      reportUnknownProject(services.control),
      reportUnknownParameters,
      keepSecretsWhole,
    ],
    validateResponses,
    maxResponseLength: limits.maxResponseBytes,
    // Texts that occur many times were reserved when they were read.
    async reserve(length) {
      const scope = currentScope();
      if (scope !== undefined && length > scope.responseBytes)
        await scope.holdForResponse(length - scope.responseBytes);
    },
  };
  const training = createTrainingServer(trainingHandlers(services), options);
  const tracing = createTracingServer(tracingHandlers(services), { ...options, prefixes: ["/traces"] });
  const interfaces: HttpServer = (request) => (isTraining(request.target) ? training(request) : tracing(request));
  const opened = openRoutes<Site>(Object.values(routes), { services, docsDir, consoleDir, packagesDir, metrics });
  const all = serveRoutes(
    opened,
    {
      authenticate: (request) => authenticate(services, request),
      onError,
      checkProject: (projectId) => checkUsable(services.control, projectId),
      turns: openTurns(limits),
    },
    interfaces,
  );
  const guarded = guardSessions(all, services.config.publicUrls);
  return guardOrigins(guarded, { origins: services.config.corsOrigins, setting: "HEDDLE_CORS_ORIGINS" });
}

const noteOperation: Interceptor<Caller> = (next) => (request, context) => {
  const { operation } = context;
  if (operation !== undefined) enterRoute(operation.id, operation.paths[0] ?? "", operation.share);
  return next(request, context);
};

/** The bytes of files are the only stored data outside of the tracing database that a request can meet. */
function reportCorrupt({ losses }: Services, { message, cause }: HeddleError, operation?: OperationEntry): void {
  const detail = cause instanceof Error ? firstLine(cause.message) : undefined;
  const isFile = operation?.group === "files" || operation?.group === "artifacts";
  if (isFile) losses.report("blobs", "Bytes of files are lost or corrupt", detail ?? message);
  else losses.report("traces", message, detail);
}

/**
 * Every path of the training interface begins with /v1, however many slashes a client put in front. Exporters of
 * OpenTelemetry that are given the URL of the service post to /v1/traces, too.
 */
const isTraining = (target: string): boolean => /^\/+v1(?!\/+traces\/*(?:[?]|$))(?:[/?]|$)/.test(target);
