import { listen } from "@heddle/server-stub/node";
import type { ListenOptions, Listening } from "@heddle/server-stub/node";
import type { HttpServer } from "@heddle/server-stub";
import { ConfigError } from "../config/config-error.js";
import type { Config } from "../config/config.js";
import { defaultMaxConnections } from "./max-connections.js";
import { metricsServer } from "../observability/metrics-route.js";
import type { Metrics } from "../observability/metrics.js";

/** Listens as the settings say. Throws a {@link ConfigError} where that is not possible. */
export async function listenForRequests(
  server: HttpServer,
  config: Config,
  onRefused: ListenOptions["onRefused"],
): Promise<Listening> {
  const { host, port } = config;
  return await listen(server, {
    host,
    port,
    maxConnections: config.maxConnections ?? defaultMaxConnections(),
    maxBodyBytesInFlight: config.bodyMemoryBytes,
    headersMs: config.headersTimeoutMs,
    bodyStallMs: config.bodyTimeoutMs,
    connectionsSetting: "HEDDLE_MAX_CONNECTIONS",
    stallMs: config.limits.responseStallMs,
    onRefused,
  }).catch((error: unknown) => {
    throw listenError(error, { host, port }, { host: "HEDDLE_HOST", port: "HEDDLE_PORT" });
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

function listenError(
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
