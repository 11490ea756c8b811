import type { HttpServer, Problem } from "@heddle/server-stub";
import { createTracingServer } from "@heddle/server-stub/tracing";
import { createTrainingServer } from "@heddle/server-stub/training";
import { authenticate } from "./access.js";
import { docsSite } from "./docs-site.js";
import { problemOf } from "./problems.js";
import type { Services } from "./services.js";
import { graphqlRoute } from "./side-doors/graphql-route.js";
import { callHandlers } from "./tracing/calls.js";
import { completeCallHandlers } from "./tracing/complete-calls.js";
import { fileHandlers } from "./tracing/files.js";
import { objectHandlers } from "./tracing/objects.js";
import { openTelemetryHandlers } from "./tracing/open-telemetry.js";
import { refHandlers } from "./tracing/refs.js";
import { serviceHandlers } from "./tracing/service.js";
import { tableHandlers } from "./tracing/tables.js";
import { healthHandlers } from "./training/health.js";

export interface AppOptions {
  /** The built documentation, or undefined where there is none (tests). */
  docs_dir?: string;
  /** Checks every answer against the spec: on in tests. */
  validateResponses?: boolean;
  /** Told of errors that nobody expected, each answered with a 500. */
  onUnexpected?: (error: unknown) => void;
  /** Told of stores that cannot serve, each answered with a 503. */
  onOutage?: (error: Error) => void;
}

/** Everything that answers on the one port: both interfaces, documentation, and the doors that SDKs need at start-up. */
export function createApp(
  services: Services,
  { docs_dir, validateResponses, onUnexpected, onOutage }: AppOptions = {},
): HttpServer {
  const onError = (error: unknown): Problem | undefined => {
    const problem = problemOf(error);
    if (problem === undefined) onUnexpected?.(error);
    else if (problem.status === 503 && error instanceof Error) onOutage?.(error);
    return problem;
  };
  const options = {
    authenticate: (credentials: Parameters<typeof authenticate>[1]) => authenticate(services.control, credentials),
    onError,
    validateResponses,
  };
  const training = createTrainingServer({ health: healthHandlers(services) }, options);
  const tracing = createTracingServer(
    {
      calls: callHandlers(services),
      completeCalls: completeCallHandlers(services),
      files: fileHandlers(services),
      objects: objectHandlers(services),
      openTelemetry: openTelemetryHandlers(services),
      refs: refHandlers(services),
      service: serviceHandlers(services),
      tables: tableHandlers(services),
    },
    { ...options, prefixes: ["/traces"] },
  );
  const interfaces: HttpServer = (request) => (isTraining(request.target) ? training(request) : tracing(request));
  const api = graphqlRoute(services, onError, interfaces);
  return docs_dir === undefined ? api : docsSite(docs_dir, api);
}

/** Every path of the training interface begins with /v1, however many slashes a client put in front. */
const isTraining = (target: string): boolean => /^\/+v1(?:[/?]|$)/.test(target);
