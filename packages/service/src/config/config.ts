import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { S3Access } from "@heddle/blob-store";
import type { RemoteModel } from "@heddle/remote-engine";
import type { Limits } from "./limit-settings.js";
import { parseBytes, readLimits } from "./read-limits.js";
import { readObservability } from "./observability-settings.js";
import type { ObservabilitySettings } from "./observability-settings.js";
import type { Provider } from "./provider-settings.js";
import { readProviders, readProvidersFile } from "./read-providers.js";
import { readRemoteModels } from "./read-remote-models.js";

/**
 * Every environment variable of the service: its default and its meaning. `process.env` is read here and nowhere else.
 * A test writes the table of the guide "Settings" from it.
 */
export const variables = {
  HEDDLE_HOST: { default: "127.0.0.1", meaning: "address to listen on" },
  HEDDLE_PORT: { default: "4680", meaning: "port to listen on; 0 picks a free one and prints it" },
  HEDDLE_PUBLIC_URL: {
    default: "what the header Host of each request says",
    meaning:
      "where clients reach the service, as https://heddle.example.com or https://example.com/heddle: the URLs that it gives begin so",
  },
  HEDDLE_DATA_DIR: { default: ".heddle", meaning: "embedded databases and files; used by one process at a time" },
  HEDDLE_API_KEY: {
    default: "made at first start",
    meaning: "the owner key: at least 40 characters of A-Z a-z 0-9 _; when unset, kept in <data dir>/api-key",
  },
  HEDDLE_DEFAULT_ENTITY: { default: "local", meaning: "the entity when a client names none" },
  HEDDLE_CLICKHOUSE_URL: {
    default: "the embedded engine",
    meaning: "http(s) URL of a ClickHouse server or cluster that keeps the traces",
  },
  HEDDLE_MAX_CONNECTIONS: {
    default: "a sixth of the files that the process may open, at most 4096",
    meaning:
      "connections at once; beyond it, idle ones and those without a complete request are closed, and then requests get 503",
  },
  HEDDLE_BODY_MEMORY: {
    default: "128MiB",
    meaning:
      "memory for request bodies that arrive or are worked on; beyond it, stalled uploads get 503. At least 64MB",
  },
  HEDDLE_HEADERS_TIMEOUT: {
    default: "10",
    meaning: "seconds in which the headers of a request must arrive",
  },
  HEDDLE_BODY_TIMEOUT: {
    default: "20",
    meaning: "seconds that a request body may arrive without a new byte; then it gets 408",
  },
  HEDDLE_CORS_ORIGINS: {
    default: "none",
    meaning: "origins whose web pages may use the service, separated by commas: https://app.example.com",
  },
  HEDDLE_ENGINE_MEMORY: {
    default: "half of the machine's",
    meaning: "memory the embedded engine may use, as 2GB or 900MB; queries that want more fail. At least 800MB",
  },
  HEDDLE_DATABASE_URL: {
    default: "SQLite in the data directory",
    meaning:
      "postgres: URL of a database, or file: URL of another SQLite file, that keeps keys, users, projects, annotation queues and jobs",
  },
  HEDDLE_OTLP_SESSION_THREADS: {
    default: "on",
    meaning:
      "whether spans of OpenTelemetry with session.id or gen_ai.conversation.id belong to that thread: on or off",
  },
  HEDDLE_OTLP_MAX_SPANS: {
    default: "20000",
    meaning: "spans that one export of OpenTelemetry may have; more are refused with 413",
  },
  HEDDLE_MAX_RESPONSE: {
    default: "64MB",
    meaning: "bytes that one response may have; a longer one is refused with 413. Streams are not limited",
  },
  HEDDLE_WORKING_MEMORY: {
    default: "128MB",
    meaning:
      "memory for what all requests have read and not yet sent, or received and not yet stored; one key has half of it, one entity three quarters. Requests that want more wait, then get 429 or 503. At least twice HEDDLE_MAX_RESPONSE",
  },
  HEDDLE_RESPONSE_STALL_SECONDS: {
    default: "30",
    meaning: "a client that takes nothing of its response for so long is disconnected",
  },
  HEDDLE_READS_PER_KEY: {
    default: "4",
    meaning: "reads of one key at once, of 8 in all; others of the key wait, after 10 seconds they get 429",
  },
  HEDDLE_READS_PER_ENTITY: {
    default: "6",
    meaning: "the same for all keys of one entity together",
  },
  HEDDLE_BLOBS_URL: {
    default: "<data dir>/blobs",
    meaning: "directory or s3://bucket/prefix that keeps the bytes of files; S3 is set up by the usual AWS_* variables",
  },
  HEDDLE_PROVIDERS: {
    default: "none",
    meaning:
      "JSON file, or the JSON itself, that configures the model servers of others, for chat completions, images and lists of models",
  },
  HEDDLE_JOB_CONCURRENCY: {
    default: "4",
    meaning: "jobs that run at the same time, such as evaluation runs: 1 to 64",
  },
  HEDDLE_JOB_SLICE: {
    default: "15",
    meaning:
      "seconds that a job, training too, keeps its slot while jobs of others wait who have fewer: 1 to 86400; later it goes on from there",
  },
  HEDDLE_JOBS_WAITING: {
    default: "1000",
    meaning: "jobs of one key that wait; more are refused with 429: 1 to 1000000",
  },
  HEDDLE_EVALUATION_MAX_PREDICTIONS: {
    default: "100000",
    meaning:
      "predictions, rows times trials, of one evaluation run, and calls or predictions that one request has scored; more are refused with 413: 1 to 100000000",
  },
  HEDDLE_EVALUATION_CONCURRENCY: {
    default: "8",
    meaning: "rows that a job predicts and scores at the same time: 1 to 256",
  },
  HEDDLE_EVALUATION_TIMEOUT: {
    default: "300",
    meaning: "seconds that one prediction or score of a job may take, its retries included: 1 to 86400",
  },
  HEDDLE_EVALUATION_COMPUTING: {
    default: "1800",
    meaning:
      "seconds that all templates, scores and checks of one job may compute together, without the time of models: 1 to 86400",
  },
  HEDDLE_MODELS_DIR: {
    default: "<data dir>/models",
    meaning: "directory whose directories, each in Hugging Face layout, are offered as base models: dir:<name>",
  },
  HEDDLE_TRAINING_MEMORY: {
    default: "half of the machine's",
    meaning: "memory that training and sampling on this machine may use, as 2GB or 900MB. At least 200MB",
  },
  HEDDLE_COMPLETION_SLOTS: {
    default: "64",
    meaning:
      "choices of chat completions that are generated at the same time: 1 to 10000; one key has three quarters of them, further requests wait",
  },
  HEDDLE_COMPLETIONS_WAITING: {
    default: "1000",
    meaning: "chat completions of one key that wait; more are refused with 429: 1 to 100000",
  },
  HEDDLE_RECORD_COMPLETIONS: {
    default: "on",
    meaning: "whether chat completions are recorded as calls, where the request does not say it: on or off",
  },
  HEDDLE_TRAINING_CONCURRENCY: {
    default: "1",
    meaning: "training jobs that run at the same time, each with a part of HEDDLE_TRAINING_MEMORY: 1 to 64",
  },
  HEDDLE_TRAINING_STALL: {
    default: "3600",
    meaning: "seconds without progress after which a training job ends with training_failed: 1 to 604800",
  },
  HEDDLE_LORA_RANK: {
    default: "that of the engine",
    meaning: "rank of the adapters of models that begin to be trained: 1 to 1024",
  },
  HEDDLE_TRAINER_URL: {
    default: "the embedded engine",
    meaning:
      "http(s) URL of a training server that speaks the Tinker protocol, such as SkyRL; it trains the models of HEDDLE_REMOTE_MODELS",
  },
  HEDDLE_TRAINER_KEY: { default: "none", meaning: "API key of the training server" },
  HEDDLE_INFERENCE_URL: {
    default: "the embedded engine",
    meaning: "http(s) URL of a vLLM server, without /v1; it samples from the models of HEDDLE_REMOTE_MODELS",
  },
  HEDDLE_INFERENCE_KEY: { default: "none", meaning: "API key of the inference server" },
  HEDDLE_INFERENCE_DATA_DIR: {
    default: "the data directory",
    meaning: "path at which the inference server finds the data directory, from which it loads trained adapters",
  },
  HEDDLE_REMOTE_MODELS: {
    default: "none",
    meaning: "JSON file, or the JSON itself, that names the models of the training and the inference server",
  },
  HEDDLE_PRICES_FILE: {
    default: "the list that comes with Heddle",
    meaning: "JSON file with prices of models that replace those of the list, or add to it",
  },
  HEDDLE_LOG: {
    default: "text",
    meaning: "form of the log on stderr: text, or json with one object per line",
  },
  HEDDLE_LOG_LEVEL: {
    default: "info",
    meaning: "least level of the lines in the log: error, warn, info or debug, which has a line per request",
  },
  HEDDLE_METRICS: {
    default: "off",
    meaning:
      "metrics for Prometheus: off; on, at /metrics of the service for keys with the role admin; or an address such as 127.0.0.1:9464, where /metrics needs no key",
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    default: "none",
    meaning: "http(s) URL of an OTLP receiver, without /v1/traces, to which the service sends traces of itself",
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    default: "none",
    meaning: "headers for that receiver: name=value pairs with percent-encoded values, separated by commas",
  },
  OTEL_SERVICE_NAME: { default: "heddle", meaning: "name of the service in its traces" },
  OTEL_TRACES_SAMPLER_ARG: {
    default: "1",
    meaning: "part of the requests that are traced, 0 to 1, where the request does not continue a trace",
  },
} as const;

type Variable = keyof typeof variables;

export interface Config {
  host: string;
  port: number;
  /** Where clients reach the service, without a slash at the end; undefined = as each request says. */
  publicUrl: string | undefined;
  dataDir: string;
  apiKey: string | undefined;
  defaultEntity: string;
  clickhouseUrl: string | undefined;
  /** Most connections at once; undefined = by the files that the process may open. */
  maxConnections: number | undefined;
  /** Memory for the bodies of requests. */
  bodyMemoryBytes: number;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  /** Origins whose pages may use the service, as browsers send them. */
  corsOrigins: readonly string[];
  /** What the embedded engine's process may use; undefined = half of what the machine or its container has. */
  engineMemoryBytes: number | undefined;
  /** Database of keys, users, projects, annotation queues and jobs; undefined = in the data directory. */
  databaseUrl: string | undefined;
  /** What one key, or one request, may use. */
  limits: Limits;
  /** Whether sessions of OpenTelemetry are threads. */
  otlpSessionThreads: boolean;
  /** A directory or an `s3:` URL, the latter with `s3`. */
  blobsUrl: string;
  s3: S3Access | undefined;
  /** The model servers of others that requests may go to. */
  providers: readonly Provider[];
  /** Jobs that run at the same time. */
  jobConcurrency: number;
  /** How long a job keeps its slot while others wait. */
  jobSliceMs: number;
  /** Jobs of one key that wait. */
  jobsWaitingPerKey: number;
  /** Predictions of one run. */
  evaluationMaxPredictions: number;
  /** Rows that a job predicts and scores at the same time. */
  evaluationConcurrency: number;
  /** For one prediction or score. */
  evaluationTimeoutMs: number;
  /** For what one job computes besides its requests to models. */
  evaluationComputingMs: number;
  /** Directory of the directories of base models. */
  modelsDir: string;
  /** What the processes that train and sample may use; undefined = half of what the machine or its container has. */
  trainingMemoryBytes: number | undefined;
  /** Chat completions. */
  completions: {
    /** Choices that are generated at the same time. */
    slots: number;
    /** Requests of one key that wait. */
    waitingPerKey: number;
    /** Whether completions are recorded as calls, where the request does not say it. */
    record: boolean;
  };
  /** Training jobs that run at the same time. */
  trainingConcurrency: number;
  /** How long a training job may be without progress. */
  trainingStallMs: number;
  /** Rank of new adapters; undefined = that of the engine. */
  loraRank: number | undefined;
  /** Servers that train and sample in place of the embedded engine. */
  remoteEngine: RemoteEngineConfig;
  /** Prices of models that replace those that come with Heddle. */
  pricesFile: string | undefined;
  /** Logs, metrics and traces of the service itself. */
  observability: ObservabilitySettings;
}

/** Where the models that have `trainer` are trained, and those that have `inference` sampled from. */
interface RemoteEngineConfig {
  trainerUrl: string | undefined;
  trainerKey: string | undefined;
  inferenceUrl: string | undefined;
  inferenceKey: string | undefined;
  /** Path of the data directory on the inference server. */
  inferenceDataDir: string;
  models: readonly RemoteModel[];
}

/** A setting that cannot work; `message` is one line that names it and what to do. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

const ownerKey = /^[A-Za-z0-9_]{40,}$/;
const entityName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/** Reads the settings; relative paths are taken from `cwd`. Throws {@link ConfigError}. */
export function readConfig(env: NodeJS.ProcessEnv = process.env, cwd: string = process.cwd()): Config {
  for (const name of Object.keys(env)) {
    if (name.startsWith("HEDDLE_") && !(name in variables)) {
      throw new ConfigError(`${name} is not a setting of this version. Known: ${Object.keys(variables).join(", ")}.`);
    }
  }
  // An empty variable is the usual way to say "unset" in compose files and unit files.
  const get = (name: Variable): string | undefined => env[name]?.trim() || undefined;

  const port = Number(get("HEDDLE_PORT") ?? variables.HEDDLE_PORT.default);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new ConfigError(`HEDDLE_PORT must be a whole number from 0 to 65535, not "${get("HEDDLE_PORT")}".`);
  }
  const apiKey = get("HEDDLE_API_KEY");
  if (apiKey !== undefined && !ownerKey.test(apiKey)) {
    throw new ConfigError(
      "HEDDLE_API_KEY needs at least 40 characters of A-Z a-z 0-9 _ (client libraries refuse other keys). Unset it to have one made.",
    );
  }
  const defaultEntity = get("HEDDLE_DEFAULT_ENTITY") ?? variables.HEDDLE_DEFAULT_ENTITY.default;
  if (!entityName.test(defaultEntity)) {
    throw new ConfigError(`HEDDLE_DEFAULT_ENTITY must be letters, digits, _ . -, not "${defaultEntity}".`);
  }
  const dataDir = resolve(cwd, get("HEDDLE_DATA_DIR") ?? variables.HEDDLE_DATA_DIR.default);
  return {
    host: get("HEDDLE_HOST") ?? variables.HEDDLE_HOST.default,
    port,
    publicUrl: publicUrl(get("HEDDLE_PUBLIC_URL")),
    dataDir,
    apiKey,
    defaultEntity,
    clickhouseUrl: httpUrl("HEDDLE_CLICKHOUSE_URL", get("HEDDLE_CLICKHOUSE_URL")),
    maxConnections: count("HEDDLE_MAX_CONNECTIONS", get("HEDDLE_MAX_CONNECTIONS"), 10),
    bodyMemoryBytes: memory("HEDDLE_BODY_MEMORY", get("HEDDLE_BODY_MEMORY"), 64e6) ?? 128 * 2 ** 20,
    headersTimeoutMs: seconds("HEDDLE_HEADERS_TIMEOUT", get("HEDDLE_HEADERS_TIMEOUT")),
    bodyTimeoutMs: seconds("HEDDLE_BODY_TIMEOUT", get("HEDDLE_BODY_TIMEOUT")),
    corsOrigins: corsOrigins(get("HEDDLE_CORS_ORIGINS")),
    engineMemoryBytes: memory("HEDDLE_ENGINE_MEMORY", get("HEDDLE_ENGINE_MEMORY"), smallestEngineBytes),
    limits: checked(() => readLimits(get)),
    observability: checked(() => readObservability(get)),
    databaseUrl: databaseUrl(get("HEDDLE_DATABASE_URL")),
    pricesFile: pathIn(cwd, get("HEDDLE_PRICES_FILE")),
    remoteEngine: remoteEngine(get, cwd, dataDir),
    modelsDir: pathIn(cwd, get("HEDDLE_MODELS_DIR")) ?? join(dataDir, "models"),
    trainingMemoryBytes: memory("HEDDLE_TRAINING_MEMORY", get("HEDDLE_TRAINING_MEMORY"), 200e6),
    completions: {
      slots: wholeNumber("HEDDLE_COMPLETION_SLOTS", get("HEDDLE_COMPLETION_SLOTS"), 10_000),
      waitingPerKey: wholeNumber("HEDDLE_COMPLETIONS_WAITING", get("HEDDLE_COMPLETIONS_WAITING"), 100_000),
      record: onOrOff("HEDDLE_RECORD_COMPLETIONS", get("HEDDLE_RECORD_COMPLETIONS")),
    },
    trainingConcurrency: wholeNumber("HEDDLE_TRAINING_CONCURRENCY", get("HEDDLE_TRAINING_CONCURRENCY"), 64),
    trainingStallMs: 1000 * wholeNumber("HEDDLE_TRAINING_STALL", get("HEDDLE_TRAINING_STALL"), 604_800),
    loraRank: get("HEDDLE_LORA_RANK") ? wholeNumber("HEDDLE_LORA_RANK", get("HEDDLE_LORA_RANK"), 1024) : undefined,
    otlpSessionThreads: onOrOff("HEDDLE_OTLP_SESSION_THREADS", get("HEDDLE_OTLP_SESSION_THREADS")),
    ...blobsLocation(get("HEDDLE_BLOBS_URL"), env, cwd, dataDir),
    jobConcurrency: wholeNumber("HEDDLE_JOB_CONCURRENCY", get("HEDDLE_JOB_CONCURRENCY"), 64),
    jobSliceMs: 1000 * wholeNumber("HEDDLE_JOB_SLICE", get("HEDDLE_JOB_SLICE"), 86_400),
    jobsWaitingPerKey: wholeNumber("HEDDLE_JOBS_WAITING", get("HEDDLE_JOBS_WAITING"), 1_000_000),
    evaluationMaxPredictions: wholeNumber(
      "HEDDLE_EVALUATION_MAX_PREDICTIONS",
      get("HEDDLE_EVALUATION_MAX_PREDICTIONS"),
      100_000_000,
    ),
    evaluationConcurrency: wholeNumber("HEDDLE_EVALUATION_CONCURRENCY", get("HEDDLE_EVALUATION_CONCURRENCY"), 256),
    evaluationTimeoutMs: 1000 * wholeNumber("HEDDLE_EVALUATION_TIMEOUT", get("HEDDLE_EVALUATION_TIMEOUT"), 86_400),
    evaluationComputingMs:
      1000 * wholeNumber("HEDDLE_EVALUATION_COMPUTING", get("HEDDLE_EVALUATION_COMPUTING"), 86_400),
    providers: providersOf(get("HEDDLE_PROVIDERS"), env, cwd),
  };
}

function httpUrl(name: Variable, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new ConfigError(`${name} must be an http or https URL, for example http://user:password@clickhouse:8123.`);
  }
  return text;
}

function publicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.href === url.origin + url.pathname &&
    !/[?#]/.test(text)
  ) {
    return url.href.replace(/(?<!\/)\/+$/, "");
  }
  throw new ConfigError(
    `HEDDLE_PUBLIC_URL must be an http or https URL without user, query or fragment, for example https://heddle.example.com, not "${text}".`,
  );
}

/** A wildcard is no origin: every page that a user of the service opens could then use it. */
function corsOrigins(text: string | undefined): string[] {
  const origins = (text ?? "").split(",").map((origin) => origin.trim());
  return origins.filter(Boolean).map((origin) => {
    if (URL.canParse(origin) && /^https?:$/.test(new URL(origin).protocol) && new URL(origin).origin === origin) {
      return origin;
    }
    throw new ConfigError(
      `HEDDLE_CORS_ORIGINS must be origins such as https://app.example.com, without a path, not "${origin}".`,
    );
  });
}

function pathIn(directory: string, path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(directory, path);
}

/** Below this the engine's own start takes nearly all of it. */
const smallestEngineBytes = 800e6;

function memory(
  name: "HEDDLE_ENGINE_MEMORY" | "HEDDLE_BODY_MEMORY" | "HEDDLE_TRAINING_MEMORY",
  text: string | undefined,
  smallest: number,
): number | undefined {
  if (text === undefined) return undefined;
  const bytes = parseBytes(text);
  if (bytes >= smallest) return bytes;
  throw new ConfigError(`${name} must be at least ${smallest / 1e6}MB, for example 2GB or 1500MB, not "${text}".`);
}

function count(name: Variable, text: string | undefined, smallest: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,7}$/.test(text) && Number(text) >= smallest) return Number(text);
  throw new ConfigError(`${name} must be a whole number of at least ${smallest}, not "${text}".`);
}

/** Milliseconds of a setting in seconds. */
function seconds(name: "HEDDLE_HEADERS_TIMEOUT" | "HEDDLE_BODY_TIMEOUT", text: string | undefined): number {
  const value = Number(text ?? variables[name].default);
  if (value >= 0.1 && value <= 3600) return value * 1000;
  throw new ConfigError(`${name} must be seconds from 0.1 to 3600, not "${text}".`);
}

function checked<Settings>(read: () => Settings): Settings {
  try {
    return read();
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : String(error));
  }
}

function databaseUrl(text: string | undefined): string | undefined {
  if (text === undefined || (URL.canParse(text) && /^(postgres(ql)?:\/\/|file:\/)/.test(text))) return text;
  throw new ConfigError(
    "HEDDLE_DATABASE_URL must be a postgres: or file: URL, for example postgres://user:password@postgres:5432/heddle.",
  );
}

function onOrOff(name: "HEDDLE_OTLP_SESSION_THREADS" | "HEDDLE_RECORD_COMPLETIONS", text: string | undefined): boolean {
  const value = text ?? variables[name].default;
  if (value === "on" || value === "off") return value === "on";
  throw new ConfigError(`${name} must be on or off, not "${value}".`);
}

function wholeNumber(name: Variable, text: string | undefined, most: number): number {
  const value = Number(text ?? variables[name].default);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new ConfigError(`${name} must be a whole number from 1 to ${most}, not "${text}".`);
}

function blobsLocation(
  text: string | undefined,
  env: NodeJS.ProcessEnv,
  cwd: string,
  dataDir: string,
): Pick<Config, "blobsUrl" | "s3"> {
  if (text?.startsWith("s3://") === true) return { blobsUrl: text, s3: s3Access(env) };
  if (text !== undefined && /^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    throw new ConfigError("HEDDLE_BLOBS_URL must be a directory or s3://bucket/prefix.");
  }
  return { blobsUrl: text === undefined ? resolve(dataDir, "blobs") : resolve(cwd, text), s3: undefined };
}

/** The variables that every S3 tool reads. */
function s3Access(env: NodeJS.ProcessEnv): S3Access {
  const get = (name: string): string | undefined => env[`AWS_${name}`]?.trim() || undefined;
  const [accessKeyId, secretAccessKey] = [get("ACCESS_KEY_ID"), get("SECRET_ACCESS_KEY")];
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new ConfigError("HEDDLE_BLOBS_URL on S3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.");
  }
  const endpoint = get("ENDPOINT_URL_S3") ?? get("ENDPOINT_URL");
  if (endpoint !== undefined && (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol))) {
    throw new ConfigError("AWS_ENDPOINT_URL must be an http or https URL, for example http://minio:9000.");
  }
  const sessionToken = get("SESSION_TOKEN");
  return {
    region: get("REGION") ?? get("DEFAULT_REGION") ?? "us-east-1",
    accessKeyId,
    secretAccessKey,
    ...(endpoint !== undefined && { endpoint }),
    ...(sessionToken !== undefined && { sessionToken }),
  };
}

function remoteEngine(get: (name: Variable) => string | undefined, cwd: string, dataDir: string): RemoteEngineConfig {
  const trainerUrl = httpUrl("HEDDLE_TRAINER_URL", get("HEDDLE_TRAINER_URL"));
  const inferenceUrl = httpUrl("HEDDLE_INFERENCE_URL", get("HEDDLE_INFERENCE_URL"));
  const models = remoteModels(get("HEDDLE_REMOTE_MODELS"), cwd);
  for (const [role, name, url] of [
    ["trainer", "HEDDLE_TRAINER_URL", trainerUrl],
    ["inference", "HEDDLE_INFERENCE_URL", inferenceUrl],
  ] as const) {
    const model = models.find((each) => each[role] !== undefined);
    if (url === undefined && model !== undefined) {
      throw new ConfigError(`HEDDLE_REMOTE_MODELS: ${model.name} has ${role}, and ${name} is not set.`);
    }
    if (url !== undefined && model === undefined) {
      throw new ConfigError(`${name} is set, and no model of HEDDLE_REMOTE_MODELS has ${role}.`);
    }
  }
  return {
    trainerUrl,
    trainerKey: get("HEDDLE_TRAINER_KEY"),
    inferenceUrl,
    inferenceKey: get("HEDDLE_INFERENCE_KEY"),
    inferenceDataDir: get("HEDDLE_INFERENCE_DATA_DIR") ?? dataDir,
    models,
  };
}

function remoteModels(setting: string | undefined, cwd: string): RemoteModel[] {
  if (setting === undefined) return [];
  const isText = setting.startsWith("{");
  try {
    return readRemoteModels(isText ? setting : readProvidersFile(resolve(cwd, setting)), cwd);
  } catch (error) {
    const source = isText ? "HEDDLE_REMOTE_MODELS" : `HEDDLE_REMOTE_MODELS: ${setting}`;
    throw new ConfigError(`${source}: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

function providersOf(setting: string | undefined, env: NodeJS.ProcessEnv, cwd: string): Provider[] {
  if (setting === undefined) return [];
  const isText = setting.startsWith("{");
  try {
    return readProviders(isText ? setting : readProvidersFile(resolve(cwd, setting)), env);
  } catch (error) {
    // The text itself may hold keys.
    const source = isText ? "HEDDLE_PROVIDERS" : `HEDDLE_PROVIDERS: ${setting}`;
    throw new ConfigError(`${source}: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** URL of the database of keys, users, projects, annotation queues and jobs. */
export const controlPlaneUrl = (config: Config): string =>
  config.databaseUrl ?? pathToFileURL(join(config.dataDir, "control.db")).href;
