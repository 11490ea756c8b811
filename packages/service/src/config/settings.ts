import { readSlots } from "@heddle/trace-store";
import {
  blobsLocation,
  bytes,
  databaseUrl,
  foreignPath,
  headers,
  hostName,
  httpUrl,
  httpUrls,
  matching,
  metricsPort,
  networks,
  numberFrom,
  oneOf,
  onOrOff,
  origins,
  path,
  portOrOff,
  providers,
  publicUrls,
  remoteModels,
  seconds,
  secret,
  shardList,
  text,
  wholeNumber,
} from "./kinds.js";
import type { SettingsTable } from "./setting.js";

/** Of a ClickHouse, training or inference server. */
const serverUrl = httpUrl("http://user:password@clickhouse:8123");

/**
 * Every setting of the service, by the name that the code has for it. The type `Config`, what is read and refused,
 * `heddle serve --help` and the guides follow from it.
 */
export const settings = {
  host: { name: "HEDDLE_HOST", kind: text, default: "127.0.0.1", meaning: "address to listen on" },
  port: {
    name: "HEDDLE_PORT",
    kind: wholeNumber(0, 65_535),
    default: "4680",
    meaning: "port to listen on; 0 picks a free one and prints it",
  },
  publicUrls: {
    name: "HEDDLE_PUBLIC_URL",
    kind: publicUrls,
    unset: "what the header Host of each request says",
    meaning:
      "where clients reach the service, as https://heddle.example.com or https://example.com/heddle: the URLs that it gives begin so. Several are separated by commas, the first is given; browsers log in under these names, addresses and names of this machine only",
  },
  trustedProxies: {
    name: "HEDDLE_TRUSTED_PROXIES",
    kind: networks,
    default: "127.0.0.0/8,::1",
    meaning:
      "addresses and networks of the proxies in front of the service, separated by commas: their X-Forwarded-For and X-Forwarded-Proto are believed, those of others are not; none for no proxy",
  },
  replicaAddress: {
    name: "HEDDLE_REPLICA_ADDRESS",
    kind: hostName,
    unset: "one service alone",
    meaning:
      "address or host name by which other services of this installation reach this one, as 10.0.0.4: with it, several share the stores, each takes every request, and one of them works on the traces",
  },
  leaseMs: {
    name: "HEDDLE_LEASE",
    kind: seconds(3, 600),
    default: "12",
    meaning:
      "seconds after which another service takes over from one that does not renew its lease of a tracing database, with HEDDLE_DATABASE_URL; the same at every replica",
  },
  shards: {
    name: "HEDDLE_SHARDS",
    kind: shardList,
    default: "none",
    meaning:
      "further tracing databases of replicas besides that of HEDDLE_CLICKHOUSE_URL, as NAME=URL separated by commas, the path of a URL being the name of the database; each has one replica that writes it, and a project is in one of them",
  },
  workers: {
    name: "HEDDLE_WORKERS",
    kind: wholeNumber(1, 64),
    default: "1",
    meaning:
      "processes of this machine that work on requests at the same port, each on a tracing database of its own: as many as it has cores to spare. It can be raised and lowered later, to 2 at least",
  },
  dataDir: {
    name: "HEDDLE_DATA_DIR",
    kind: path,
    default: ".heddle",
    meaning: "embedded databases and files; used by one process at a time",
  },
  apiKey: {
    name: "HEDDLE_API_KEY",
    kind: {
      ...matching(
        /^[A-Za-z0-9_]{40,}$/,
        "at least 40 characters of A-Z a-z 0-9 _ (client libraries refuse other keys). Unset it to have one made",
      ),
      isSecret: true,
    },
    unset: "made at first start",
    meaning: "the owner key: at least 40 characters of A-Z a-z 0-9 _; when unset, kept in <data dir>/api-key",
  },
  defaultEntity: {
    name: "HEDDLE_DEFAULT_ENTITY",
    kind: matching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/, "letters, digits, _ . -"),
    default: "local",
    meaning: "the entity when a client names none",
  },
  clickhouseUrl: {
    name: "HEDDLE_CLICKHOUSE_URL",
    kind: serverUrl,
    unset: "the embedded engine",
    meaning: "http(s) URL of a ClickHouse server that keeps the traces",
  },
  clickhouseCluster: {
    name: "HEDDLE_CLICKHOUSE_CLUSTER",
    kind: matching(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, "a name of letters, digits and _"),
    unset: "tables are on the server of the URL alone",
    meaning:
      "name of the ClickHouse cluster, with one shard, that the server of HEDDLE_CLICKHOUSE_URL belongs to: the tables are replicated among its servers, and read and written at that one",
  },
  textIndex: {
    name: "HEDDLE_TEXT_INDEX",
    kind: oneOf("bloom", "text", "off"),
    default: "bloom",
    meaning:
      "how searches find words in calls: bloom keeps which words each block of calls has, text which calls have each word (faster, several times as large, and costs more at ingest), off reads the calls. Changed at the next start, for stored calls in the background",
  },
  maxConnections: {
    name: "HEDDLE_MAX_CONNECTIONS",
    kind: wholeNumber(10),
    unset: "a sixth of the files that the process may open, at most 4096",
    meaning:
      "connections at once; beyond it, idle ones and those without a complete request are closed, and then requests get 503",
  },
  bodyMemoryBytes: {
    name: "HEDDLE_BODY_MEMORY",
    kind: bytes(64e6),
    default: "128MiB",
    meaning: "memory for request bodies that arrive or are worked on; beyond it, stalled uploads get 503",
  },
  headersTimeoutMs: {
    name: "HEDDLE_HEADERS_TIMEOUT",
    kind: seconds(0.1, 3600),
    default: "10",
    meaning: "seconds in which the headers of a request must arrive",
  },
  bodyTimeoutMs: {
    name: "HEDDLE_BODY_TIMEOUT",
    kind: seconds(0.1, 3600),
    default: "20",
    meaning: "seconds that a request body may arrive without a new byte; then it gets 408",
  },
  corsOrigins: {
    name: "HEDDLE_CORS_ORIGINS",
    kind: origins,
    default: "",
    meaning: "origins whose web pages may use the service, separated by commas: https://app.example.com",
  },
  console: {
    name: "HEDDLE_CONSOLE",
    kind: onOrOff,
    default: "on",
    meaning: "whether the web console is served, at /console/",
  },
  engineMemoryBytes: {
    name: "HEDDLE_ENGINE_MEMORY",
    // Below this the engine's own start takes nearly all of it.
    kind: bytes(800e6),
    unset: "half of the machine's",
    meaning: "memory the embedded engine may use, as 2GB or 900MB; queries that want more fail",
  },
  callMemoryBytes: {
    name: "HEDDLE_CALL_MEMORY",
    kind: bytes(1e6),
    unset: "1/32 of the machine's, from 32MB to 1GB",
    meaning:
      "memory for the newest calls: reads of these take a few milliseconds, without the engine. Tracing databases of replicas have equal parts of it",
  },
  databaseUrl: {
    name: "HEDDLE_DATABASE_URL",
    kind: databaseUrl,
    unset: "SQLite in the data directory",
    meaning:
      "postgres: URL of a database, or file: URL of another SQLite file, that keeps keys, users, projects, annotation queues and jobs",
  },
  otlpGrpcPort: {
    name: "HEDDLE_OTLP_GRPC_PORT",
    kind: portOrOff,
    unset: "4317, unless another program listens there",
    meaning:
      "port that takes traces of OpenTelemetry over gRPC, at the address of HEDDLE_HOST; 0 picks a free one and prints it, off closes it",
  },
  otlpSessionThreads: {
    name: "HEDDLE_OTLP_SESSION_THREADS",
    kind: onOrOff,
    default: "on",
    meaning: "whether spans of OpenTelemetry with session.id or gen_ai.conversation.id belong to that thread",
  },
  limits: {
    maxExportSpans: {
      name: "HEDDLE_OTLP_MAX_SPANS",
      kind: wholeNumber(1, 1_000_000),
      default: "20000",
      meaning: "spans that one export of OpenTelemetry may have; more are refused with 413",
    },
    maxResponseBytes: {
      name: "HEDDLE_MAX_RESPONSE",
      kind: bytes(1e6),
      default: "64MB",
      meaning: "bytes that one response may have; a longer one is refused with 413. Streams are not limited",
    },
    workingMemoryBytes: {
      name: "HEDDLE_WORKING_MEMORY",
      kind: bytes(2e6),
      default: "128MB",
      meaning:
        "memory for what all requests have read and not yet sent, or received and not yet stored; one key has half of it, one entity three quarters. Requests that want more wait, then get 429 or 503. At least twice HEDDLE_MAX_RESPONSE",
    },
    responseStallMs: {
      name: "HEDDLE_RESPONSE_STALL_SECONDS",
      kind: seconds(1, 3600),
      default: "30",
      meaning: "a client that takes nothing of its response for so long is disconnected",
    },
    readsPerKey: {
      name: "HEDDLE_READS_PER_KEY",
      kind: wholeNumber(1, readSlots),
      default: `${readSlots / 2}`,
      meaning: `reads of one key at once, of ${readSlots} in all; others of the key wait, after 10 seconds they get 429`,
    },
    readsPerEntity: {
      name: "HEDDLE_READS_PER_ENTITY",
      kind: wholeNumber(1, readSlots),
      default: `${(readSlots * 3) / 4}`,
      meaning: "the same for all keys of one entity together",
    },
    tailSeconds: {
      name: "HEDDLE_TAIL_SECONDS",
      kind: wholeNumber(0, 3600),
      default: "3600",
      meaning: "a stream of changes of calls ends after so long; clients go on with another one",
    },
  },
  blobsUrl: {
    name: "HEDDLE_BLOBS_URL",
    kind: blobsLocation,
    default: "<data dir>/blobs",
    meaning: "directory or s3://bucket/prefix that keeps the bytes of files; S3 is set up by the usual AWS_* variables",
  },
  providers: {
    name: "HEDDLE_PROVIDERS",
    kind: providers,
    default: "{}",
    meaning:
      "JSON file, or the JSON itself, that configures the model servers of others, for chat completions, images and lists of models",
  },
  webhooksPrivate: {
    name: "HEDDLE_WEBHOOKS_PRIVATE",
    kind: onOrOff,
    default: "off",
    meaning: "whether webhooks may have http URLs and addresses that are not public, such as those of this machine",
  },
  jobConcurrency: {
    name: "HEDDLE_JOB_CONCURRENCY",
    kind: wholeNumber(1, 64),
    default: "4",
    meaning: "jobs that run at the same time, such as evaluation runs",
  },
  jobSliceMs: {
    name: "HEDDLE_JOB_SLICE",
    kind: seconds(1, 86_400),
    default: "15",
    meaning:
      "seconds that a job, training too, keeps its slot while jobs of others wait who have fewer; later it goes on from there",
  },
  jobsWaitingPerKey: {
    name: "HEDDLE_JOBS_WAITING",
    kind: wholeNumber(1, 1_000_000),
    default: "1000",
    meaning: "jobs of one key that wait; more are refused with 429",
  },
  evaluationMaxPredictions: {
    name: "HEDDLE_EVALUATION_MAX_PREDICTIONS",
    kind: wholeNumber(1, 100_000_000),
    default: "100000",
    meaning:
      "predictions, rows times trials, of one evaluation run, and calls or predictions that one request has scored; more are refused with 413",
  },
  evaluationConcurrency: {
    name: "HEDDLE_EVALUATION_CONCURRENCY",
    kind: wholeNumber(1, 256),
    default: "8",
    meaning: "rows that a job predicts and scores at the same time",
  },
  evaluationTimeoutMs: {
    name: "HEDDLE_EVALUATION_TIMEOUT",
    kind: seconds(1, 86_400),
    default: "300",
    meaning: "seconds that one prediction or score of a job may take, its retries included",
  },
  evaluationComputingMs: {
    name: "HEDDLE_EVALUATION_COMPUTING",
    kind: seconds(1, 86_400),
    default: "1800",
    meaning:
      "seconds that all templates, scores and checks of one job may compute together, without the time of models",
  },
  modelsDir: {
    name: "HEDDLE_MODELS_DIR",
    kind: path,
    default: "<data dir>/models",
    meaning: "directory whose directories, each in Hugging Face layout, are offered as base models: dir:<name>",
  },
  trainingMemoryBytes: {
    name: "HEDDLE_TRAINING_MEMORY",
    kind: bytes(200e6),
    unset: "half of the machine's",
    meaning: "memory that training and sampling on this machine may use, as 2GB or 900MB",
  },
  completions: {
    slots: {
      name: "HEDDLE_COMPLETION_SLOTS",
      kind: wholeNumber(1, 10_000),
      default: "64",
      meaning:
        "choices of chat completions that are generated at the same time; one key has half of them, one entity three quarters, further requests wait",
    },
    waitingPerKey: {
      name: "HEDDLE_COMPLETIONS_WAITING",
      kind: wholeNumber(1, 100_000),
      default: "1000",
      meaning: "chat completions of one key that wait; more are refused with 429",
    },
    record: {
      name: "HEDDLE_RECORD_COMPLETIONS",
      kind: onOrOff,
      default: "on",
      meaning: "whether chat completions are recorded as calls, where the request does not say it",
    },
  },
  trainingConcurrency: {
    name: "HEDDLE_TRAINING_CONCURRENCY",
    kind: wholeNumber(1, 64),
    default: "1",
    meaning: "training jobs that run at the same time, each with a part of HEDDLE_TRAINING_MEMORY",
  },
  trainingStallMs: {
    name: "HEDDLE_TRAINING_STALL",
    kind: seconds(1, 604_800),
    default: "3600",
    meaning: "seconds without progress after which a training job ends with training_failed",
  },
  keepRolloutsBytes: {
    name: "HEDDLE_KEEP_ROLLOUTS",
    kind: bytes(0),
    default: "10GB",
    meaning:
      "bytes of the rollouts of training jobs that are kept, as long as their models; beyond it, those of the oldest jobs that have ended are deleted. 0MB keeps none",
  },
  loraRank: {
    name: "HEDDLE_LORA_RANK",
    kind: wholeNumber(1, 1024),
    unset: "that of the engine",
    meaning: "rank of the adapters of models that begin to be trained",
  },
  promptCacheBytes: {
    name: "HEDDLE_PROMPT_CACHE",
    kind: bytes(0),
    unset: "half of what running requests may take, a fifteenth of HEDDLE_TRAINING_MEMORY",
    meaning:
      "bytes of prompts that the embedded engine keeps for later requests, of what running ones leave of their memory. 0MB keeps none",
  },
  remoteEngine: {
    trainerUrl: {
      name: "HEDDLE_TRAINER_URL",
      kind: httpUrls("http://gpu-1:8000,http://gpu-4:8000"),
      unset: "the embedded engine",
      meaning:
        "http(s) URL of a training server that speaks the Tinker protocol, such as SkyRL, or of several with the same models, separated by commas; they train the models of HEDDLE_REMOTE_MODELS",
    },
    trainerKey: {
      name: "HEDDLE_TRAINER_KEY",
      kind: secret,
      unset: "none",
      meaning: "API key of the training server",
    },
    inferenceUrl: {
      name: "HEDDLE_INFERENCE_URL",
      kind: httpUrls("http://gpu-2:8000,http://gpu-3:8000"),
      unset: "the embedded engine",
      meaning:
        "http(s) URL of a vLLM or SGLang server, without /v1, or of several with the same models, separated by commas; they sample from the models of HEDDLE_REMOTE_MODELS",
    },
    inferenceKey: {
      name: "HEDDLE_INFERENCE_KEY",
      kind: secret,
      unset: "none",
      meaning: "API key of the inference server",
    },
    inferenceDataDir: {
      name: "HEDDLE_INFERENCE_DATA_DIR",
      kind: foreignPath,
      default: "<data dir>",
      meaning: "path at which the inference server finds the data directory, from which it loads trained adapters",
    },
    inferenceAdapters: {
      name: "HEDDLE_INFERENCE_ADAPTERS",
      kind: httpUrl("http://heddle:4680"),
      unset: "from HEDDLE_INFERENCE_DATA_DIR",
      meaning:
        "http(s) URL at which inference servers without a file system in common reach this service, to fetch trained adapters by signed addresses; the HF_ENDPOINT of the servers is this with /v1/adapters",
    },
    models: {
      name: "HEDDLE_REMOTE_MODELS",
      kind: remoteModels,
      default: "{}",
      meaning: "JSON file, or the JSON itself, that names the models of the training and the inference server",
    },
  },
  pricesFile: {
    name: "HEDDLE_PRICES_FILE",
    kind: path,
    unset: "the list that comes with Heddle",
    meaning: "JSON file with prices of models that replace those of the list, or add to it",
  },
  observability: {
    log: {
      format: {
        name: "HEDDLE_LOG",
        kind: oneOf("text", "json"),
        default: "text",
        meaning: "form of the log on stderr; json has one object per line",
      },
      level: {
        name: "HEDDLE_LOG_LEVEL",
        kind: oneOf("error", "warn", "info", "debug"),
        default: "info",
        meaning: "least level of the lines in the log; debug has a line per request",
      },
    },
    metrics: {
      name: "HEDDLE_METRICS",
      kind: metricsPort,
      default: "off",
      meaning:
        "metrics for Prometheus: off; on, at /metrics of the service for keys with the role admin; or an address such as 127.0.0.1:9464, where /metrics needs no key",
    },
  },
} as const satisfies SettingsTable;

/** Where the service sends traces of itself. Other programs read these, too: without the first they are not looked at. */
export const traceSettings = {
  endpoint: {
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    kind: httpUrl("http://collector:4318, without /v1/traces"),
    unset: "none",
    meaning: "http(s) URL of an OTLP receiver, without /v1/traces, to which the service sends traces of itself",
  },
  headers: {
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    kind: headers,
    default: "",
    meaning: "headers for that receiver: name=value pairs with percent-encoded values, separated by commas",
  },
  serviceName: {
    name: "OTEL_SERVICE_NAME",
    kind: text,
    default: "heddle",
    meaning: "name of the service in its traces",
  },
  ratio: {
    name: "OTEL_TRACES_SAMPLER_ARG",
    kind: numberFrom(0, 1),
    default: "1",
    meaning: "part of the requests that are traced, where the request does not continue a trace",
  },
} as const satisfies SettingsTable;
