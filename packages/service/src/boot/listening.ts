import { listen } from "@heddle/server-stub/node";
import type { BodiesInFlight, ListenOptions, Listening } from "@heddle/server-stub/node";
import type { HttpServer } from "@heddle/server-stub";
import { ConfigError } from "../config/config-error.js";
import type { Config } from "../config/config.js";
import { defaultMaxConnections } from "./max-connections.js";
import { metricsServer } from "../observability/metrics-route.js";
import type { Metrics } from "../observability/metrics.js";
import { collectorMethods, mostGrpcCalls, mostGrpcConnections, usualGrpcPort } from "../otlp/collector.js";
import { listenForGrpc } from "../otlp/listen-grpc.js";
import type { ListeningGrpc } from "../otlp/listen-grpc.js";

/** Listens as the settings say. Throws a {@link ConfigError} where that is not possible. */
export async function listenForRequests(
  server: HttpServer,
  config: Config,
  { bodies, onRefused }: Pick<ListenOptions, "onRefused"> & { bodies: BodiesInFlight },
): Promise<Listening> {
  const { host, port } = config;
  return await listen(server, {
    host,
    port,
    maxConnections: config.maxConnections ?? defaultMaxConnections(),
    bodies,
    headersMs: config.headersTimeoutMs,
    connectionsSetting: "HEDDLE_MAX_CONNECTIONS",
    stallMs: config.limits.responseStallMs,
    onRefused,
  }).catch((error: unknown) => {
    throw listenError(error, { host, port }, { host: "HEDDLE_HOST", port: "HEDDLE_PORT" });
  });
}

/**
 * Listens for traces over gRPC; undefined where the settings leave it out, and where the usual port is in use and not set:
 * a Collector may listen there.
 */
export async function listenForOtlpGrpc(
  server: HttpServer,
  config: Config,
  { bodies, log }: { bodies: BodiesInFlight; log: (line: string) => void },
): Promise<ListeningGrpc | undefined> {
  const { host, otlpGrpcPort: port = usualGrpcPort } = config;
  if (port === "off") return undefined;
  const connections = Math.floor((config.maxConnections ?? defaultMaxConnections()) / 4);
  const options = {
    host,
    port,
    methods: collectorMethods,
    bodies,
    maxConnections: Math.max(4, Math.min(connections, mostGrpcConnections)),
    maxCalls: mostGrpcCalls,
    headersMs: config.headersTimeoutMs,
    stallMs: config.limits.responseStallMs,
  };
  return await listenForGrpc(server, options).catch((error: unknown) => {
    const reason = listenError(error, { host, port }, { host: "HEDDLE_HOST", port: "HEDDLE_OTLP_GRPC_PORT" });
    if (config.otlpGrpcPort !== undefined || !(reason instanceof ConfigError)) throw reason;
    log(`OpenTelemetry over gRPC is not served: ${reason.message}`);
    return undefined;
  });
}

/** Listens for scrapes; undefined where the metrics have no address of their own. */
export async function listenForScrapes(metrics: Metrics | undefined, config: Config): Promise<Listening | undefined> {
  const address = config.observability.metrics;
  if (metrics === undefined || typeof address === "string") return undefined;
  return await listen(metricsServer(metrics), { ...address, maxConnections: 32 }).catch((error: unknown) => {
    throw listenError(error, address, { host: "HEDDLE_METRICS", port: "HEDDLE_METRICS" });
  });
}

export function listenError(
  error: unknown,
  { host, port }: { host: string; port: number },
  settings: { host: string; port: string },
): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  if (error.code === "EADDRINUSE")
    return new ConfigError(`port ${port} on ${host} is in use. Set ${settings.port} (0 picks a free one).`);
  if (error.code === "EACCES")
    return new ConfigError(`port ${port} on ${host} needs more rights. Set ${settings.port} above 1023.`);
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND")
    return new ConfigError(`cannot listen on ${host}. Set ${settings.host} to an address of this machine.`);
  return error;
}
