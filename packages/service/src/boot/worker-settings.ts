import { join, posix } from "node:path";
import { ConfigError } from "../config/config-error.js";
import { controlPlaneUrl } from "../config/config.js";
import type { Config } from "../config/config.js";

/** Of the tracing databases besides the first, whose engine is in the directory that every service has. */
export const workerShard = (position: number | string): string => `worker-${position}`;

interface Worker {
  /** From 1. */
  position: number;
  apiKey: string;
  /** Of the engines, the first one's first. */
  engineUrls: readonly string[];
}

/** The settings of a worker: it is a replica that finds on this machine what replicas share. */
export function workerSettings(config: Config, { position, apiKey, engineUrls }: Worker): Record<string, string> {
  const { dataDir, remoteEngine, observability } = config;
  const directory = join("workers", String(position));
  const [first = "", ...others] = engineUrls;
  const { metrics } = observability;
  return {
    HEDDLE_WORKERS: "1",
    HEDDLE_REPLICA_ADDRESS: "127.0.0.1",
    HEDDLE_API_KEY: apiKey,
    HEDDLE_DATABASE_URL: controlPlaneUrl(config),
    HEDDLE_CLICKHOUSE_URL: first,
    HEDDLE_SHARDS: others.map((url, i) => `${workerShard(i + 2)}=${url}`).join(",") || "none",
    HEDDLE_BLOBS_URL: config.blobsUrl,
    HEDDLE_MODELS_DIR: config.modelsDir,
    HEDDLE_DATA_DIR: join(dataDir, directory),
    HEDDLE_INFERENCE_DATA_DIR: posix.join(remoteEngine.inferenceDataDir, "workers", String(position)),
    // A scrape is for one process: each has a port of its own.
    ...(typeof metrics === "object" && {
      HEDDLE_METRICS: `${metrics.host.includes(":") ? `[${metrics.host}]` : metrics.host}:${metricsPort(metrics.port, position)}`,
    }),
  };
}

function metricsPort(port: number, position: number): number {
  if (port === 0) return 0;
  const own = port + position - 1;
  if (own <= 65_535) return own;
  throw new ConfigError(`HEDDLE_METRICS: worker ${position} would have the port ${own}. Choose a smaller one.`);
}
