import { expect, test } from "vitest";
import { ConfigError } from "./config-error.js";
import { defaultLimits, readConfig } from "./config.js";

const replica = {
  HEDDLE_REPLICA_ADDRESS: "10.0.0.4",
  HEDDLE_DATABASE_URL: "postgres://db/heddle",
  HEDDLE_CLICKHOUSE_URL: "http://ch:8123",
  HEDDLE_BLOBS_URL: "/blobs",
  HEDDLE_API_KEY: "k".repeat(40),
};

test("defaults work without any variable", () => {
  expect(readConfig({}, "/home/me")).toEqual({
    host: "127.0.0.1",
    port: 4680,
    publicUrl: undefined,
    publicUrls: [],
    trustedProxies: ["127.0.0.0/8", "::1"],
    leaseMs: 12_000,
    shards: [],
    workers: 1,
    dataDir: "/home/me/.heddle",
    modelsDir: "/home/me/.heddle/models",
    textIndex: "bloom",
    trainingConcurrency: 1,
    trainingStallMs: 3_600_000,
    webhooksPrivate: false,
    loraRank: undefined,
    promptCacheBytes: undefined,
    apiKey: undefined,
    defaultEntity: "local",
    clickhouseUrl: undefined,
    bodyMemoryBytes: 134_217_728,
    headersTimeoutMs: 10_000,
    bodyTimeoutMs: 20_000,
    corsOrigins: [],
    console: true,
    engineMemoryBytes: undefined,
    callMemoryBytes: undefined,
    databaseUrl: undefined,
    completions: { slots: 64, waitingPerKey: 1000, record: true },
    otlpGrpcPort: undefined,
    otlpSessionThreads: true,
    limits: {
      maxExportSpans: 20_000,
      maxResponseBytes: 64e6,
      workingMemoryBytes: 128e6,
      responseStallMs: 30_000,
      readsPerKey: 4,
      readsPerEntity: 6,
      tailSeconds: 3600,
    },
    blobsUrl: "/home/me/.heddle/blobs",
    s3: undefined,
    providers: [],
    remoteEngine: {
      trainerUrl: undefined,
      trainerKey: undefined,
      inferenceUrl: undefined,
      inferenceKey: undefined,
      inferenceDataDir: "/home/me/.heddle",
      inferenceAdapters: undefined,
      models: [],
    },
    keepRolloutsBytes: 10e9,
    jobConcurrency: 4,
    jobSliceMs: 15_000,
    jobsWaitingPerKey: 1000,
    evaluationMaxPredictions: 100_000,
    evaluationConcurrency: 8,
    evaluationTimeoutMs: 300_000,
    evaluationComputingMs: 1_800_000,
    observability: { log: { format: "text", level: "info" }, metrics: "off", traces: undefined },
  });
});

test("logs, metrics and traces are as the settings say", () => {
  const read = (env: Record<string, string>) => readConfig(env).observability;
  expect(read({ HEDDLE_LOG: "json", HEDDLE_LOG_LEVEL: "debug" }).log).toEqual({ format: "json", level: "debug" });
  expect(read({ HEDDLE_METRICS: "on" }).metrics).toBe("on");
  expect(read({ HEDDLE_METRICS: "[::1]:9464" }).metrics).toEqual({ host: "::1", port: 9464 });
  const traces = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20k, project_id=a%2Fb",
    OTEL_SERVICE_NAME: "loom",
    OTEL_TRACES_SAMPLER_ARG: "0.25",
  };
  expect(read(traces).traces).toEqual({
    url: "http://collector:4318/v1/traces",
    headers: { authorization: "Bearer k", project_id: "a/b" },
    serviceName: "loom",
    ratio: 0.25,
  });
});

test.each([
  [{ HEDDLE_LOG: "xml" }, 'HEDDLE_LOG must be text or json, not "xml".'],
  [{ HEDDLE_LOG_LEVEL: "loud" }, 'HEDDLE_LOG_LEVEL must be error, warn, info or debug, not "loud".'],
  [{ HEDDLE_METRICS: "9464" }, 'HEDDLE_METRICS must be off, on or an address such as 127.0.0.1:9464, not "9464".'],
  [{ HEDDLE_METRICS: "::1:9464" }, "HEDDLE_METRICS must be"],
  [{ HEDDLE_METRICS: "a:99999" }, "HEDDLE_METRICS must be"],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" }, "OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL"],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_TRACES_SAMPLER_ARG: "2" }, "OTEL_TRACES_SAMPLER_ARG must be"],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_EXPORTER_OTLP_HEADERS: "sk-secret" },
    "OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs with percent-encoded values, separated by commas.",
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_EXPORTER_OTLP_HEADERS: "a=%0a" }, "OTEL_EXPORTER_OTLP_HEADERS"],
])("%j is refused", (env, message) => {
  expect(() => readConfig(env as Record<string, string>)).toThrow(message);
});

test("a server for training or inference needs models, and models need their server", () => {
  const models = '{"tiny":{"directory":"tiny","trainer":{"gradientScale":"sum"}}}';
  const trainer = { HEDDLE_TRAINER_URL: "http://gpu:8000" };
  expect(readConfig({ ...trainer, HEDDLE_REMOTE_MODELS: models }, "/etc").remoteEngine).toMatchObject({
    trainerUrl: ["http://gpu:8000"],
    models: [{ name: "tiny", directory: "/etc/tiny", trainer: { model: "tiny" } }],
  });
  expect(() => readConfig(trainer)).toThrow(
    "HEDDLE_TRAINER_URL is set, and no model of HEDDLE_REMOTE_MODELS has trainer.",
  );
  expect(() => readConfig({ HEDDLE_REMOTE_MODELS: models })).toThrow(
    "tiny has trainer, and HEDDLE_TRAINER_URL is not set.",
  );
  expect(() => readConfig({ ...trainer, HEDDLE_REMOTE_MODELS: "{}}" })).toThrow(
    "HEDDLE_REMOTE_MODELS: is not valid JSON.",
  );
  expect(() => readConfig({ HEDDLE_INFERENCE_URL: "gpu" })).toThrow(
    "HEDDLE_INFERENCE_URL must be http or https URLs, separated by commas",
  );
});

test("an empty variable means unset", () => {
  expect(readConfig({ HEDDLE_PORT: "", HEDDLE_API_KEY: "" }).port).toBe(4680);
});

test("the engine's memory is given with its unit", () => {
  expect(readConfig({ HEDDLE_ENGINE_MEMORY: "1.5GB" }).engineMemoryBytes).toBe(1_500_000_000);
  expect(readConfig({ HEDDLE_ENGINE_MEMORY: "1024 MiB" }).engineMemoryBytes).toBe(2 ** 30);
});

test("trusted proxies are addresses and networks", () => {
  const given = (text: string) => readConfig({ HEDDLE_TRUSTED_PROXIES: text }).trustedProxies;
  expect(given("10.0.0.5, 172.16.0.0/12,fd00::/8")).toEqual(["10.0.0.5", "172.16.0.0/12", "fd00::/8"]);
  expect(given("none")).toEqual([]);
  for (const wrong of [
    "proxy.example",
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "::1/129",
    "fe80::1%eth0",
    "10.0.0.5:80",
  ])
    expect(() => given(wrong), wrong).toThrow("HEDDLE_TRUSTED_PROXIES");
});

test("origins of pages are separated by commas", () => {
  const origins = ["https://app.example.com", "http://localhost:3000"];
  expect(readConfig({ HEDDLE_CORS_ORIGINS: origins.join(" , ") }).corsOrigins).toEqual(origins);
});

test("limits are settings, and must fit to each other", () => {
  const env = { HEDDLE_MAX_RESPONSE: "8MB", HEDDLE_WORKING_MEMORY: "16MB", HEDDLE_READS_PER_KEY: "2" };
  expect(readConfig(env).limits).toEqual({
    ...defaultLimits,
    maxResponseBytes: 8e6,
    workingMemoryBytes: 16e6,
    readsPerKey: 2,
  });
});

test("sessions of OpenTelemetry are threads until that is switched off", () => {
  expect(readConfig({ HEDDLE_OTLP_SESSION_THREADS: "off" }).otlpSessionThreads).toBe(false);
});

test("keys go to Postgres and bytes to S3 when their URLs name them", () => {
  const env = {
    HEDDLE_DATABASE_URL: "postgres://ann:hush@db/heddle",
    HEDDLE_BLOBS_URL: "s3://bucket/prefix",
    AWS_ACCESS_KEY_ID: "id",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_REGION: "eu-central-1",
    AWS_ENDPOINT_URL: "http://minio:9000",
    AWS_ENDPOINT_URL_S3: "http://s3:9000",
  };
  expect(readConfig(env)).toMatchObject({
    databaseUrl: "postgres://ann:hush@db/heddle",
    blobsUrl: "s3://bucket/prefix",
    s3: { endpoint: "http://s3:9000", region: "eu-central-1", accessKeyId: "id", secretAccessKey: "secret" },
  });
  expect(readConfig({ HEDDLE_BLOBS_URL: "bytes" }, "/srv").blobsUrl).toBe("/srv/bytes");
});

test.each([
  [{ HEDDLE_PROT: "1" }, /HEDDLE_PROT is not a setting/],
  [{ HEDDLE_PORT: "http" }, /HEDDLE_PORT must be a whole number/],
  [{ HEDDLE_PORT: "70000" }, /HEDDLE_PORT/],
  [{ HEDDLE_OTLP_GRPC_PORT: "on" }, /HEDDLE_OTLP_GRPC_PORT must be a whole number/],
  [{ HEDDLE_API_KEY: "short" }, /at least 40/],
  [{ HEDDLE_API_KEY: `${"a".repeat(40)}-` }, /at least 40/],
  [{ HEDDLE_DEFAULT_ENTITY: "a/b" }, /HEDDLE_DEFAULT_ENTITY/],
  [{ HEDDLE_CLICKHOUSE_URL: "clickhouse:8123" }, /http or https URL/],
  [{ HEDDLE_CLICKHOUSE_CLUSTER: "main" }, /HEDDLE_CLICKHOUSE_CLUSTER is set: it needs HEDDLE_CLICKHOUSE_URL, too/],
  [{ HEDDLE_CLICKHOUSE_CLUSTER: "a'b" }, /HEDDLE_CLICKHOUSE_CLUSTER must be a name of letters, digits and _/],
  [{ HEDDLE_MAX_CONNECTIONS: "3" }, /HEDDLE_MAX_CONNECTIONS must be a whole number of at least 10, not "3"/],
  [{ HEDDLE_BODY_MEMORY: "1MB" }, /HEDDLE_BODY_MEMORY must be at least 64MB/],
  [{ HEDDLE_BODY_TIMEOUT: "soon" }, /HEDDLE_BODY_TIMEOUT must be seconds/],
  [{ HEDDLE_PUBLIC_URL: "heddle.example.com" }, /HEDDLE_PUBLIC_URL must be an http or https URL/],
  [{ HEDDLE_PUBLIC_URL: "ftp://heddle.example.com" }, /HEDDLE_PUBLIC_URL/],
  [{ HEDDLE_PUBLIC_URL: "https://user@heddle.example.com" }, /HEDDLE_PUBLIC_URL/],
  [{ HEDDLE_PUBLIC_URL: "https://heddle.example.com/?a=b" }, /without user, query or fragment/],
  [{ HEDDLE_PUBLIC_URL: "https://heddle.example.com/#" }, /HEDDLE_PUBLIC_URL/],
  [{ HEDDLE_REPLICA_ADDRESS: "http://10.0.0.4" }, /HEDDLE_REPLICA_ADDRESS must be an address or host name/],
  [
    { HEDDLE_REPLICA_ADDRESS: "10.0.0.4", HEDDLE_DATABASE_URL: "postgres://db/heddle" },
    /what the replicas share needs HEDDLE_CLICKHOUSE_URL, HEDDLE_API_KEY, HEDDLE_BLOBS_URL, too/,
  ],
  [{ HEDDLE_LEASE: "2" }, /HEDDLE_LEASE must be seconds from 3 to 600, not "2"/],
  [{ HEDDLE_SHARDS: "east=http://ch:8123/trace" }, /HEDDLE_SHARDS is set: it needs HEDDLE_REPLICA_ADDRESS, too/],
  [{ ...replica, HEDDLE_SHARDS: "east=http://other/trace,main=http://other/b" }, /HEDDLE_SHARDS must be NAME=URL/],
  [
    { ...replica, HEDDLE_SHARDS: "east=http://other/trace,east=http://other/b" },
    /names of a-z 0-9 - other than main, each once/,
  ],
  [{ ...replica, HEDDLE_SHARDS: "east=http://other/trace,west=http://other/trace" }, /HEDDLE_SHARDS must be/],
  [{ ...replica, HEDDLE_SHARDS: "east=http://other/" }, /URLs with the name of a database as path/],
  [{ ...replica, HEDDLE_SHARDS: "east=http://ch:8123/trace" }, /east is the database of HEDDLE_CLICKHOUSE_URL/],
  [{ HEDDLE_CORS_ORIGINS: "*" }, /HEDDLE_CORS_ORIGINS must be origins such as https:\/\/app.example.com/],
  [{ HEDDLE_CORS_ORIGINS: "https://app.example.com/" }, /without a path, not "https:\/\/app.example.com\/"/],
  [{ HEDDLE_CORS_ORIGINS: "null" }, /HEDDLE_CORS_ORIGINS/],
  [{ HEDDLE_MAX_RESPONSE: "100" }, /HEDDLE_MAX_RESPONSE must be at least 1MB/],
  [{ HEDDLE_WORKING_MEMORY: "100MB" }, /HEDDLE_WORKING_MEMORY must be at least twice HEDDLE_MAX_RESPONSE/],
  [{ HEDDLE_READS_PER_KEY: "0" }, /HEDDLE_READS_PER_KEY must be a whole number from 1 to 8/],
  [{ HEDDLE_OTLP_MAX_SPANS: "many" }, /HEDDLE_OTLP_MAX_SPANS/],
  [{ HEDDLE_ENGINE_MEMORY: "2000000000" }, /HEDDLE_ENGINE_MEMORY must be at least 800MB, for example 2GB/],
  [{ HEDDLE_ENGINE_MEMORY: "500MB" }, /at least 800MB/],
  [{ HEDDLE_JOB_CONCURRENCY: "0" }, /HEDDLE_JOB_CONCURRENCY must be a whole number from 1 to 64/],
  [{ HEDDLE_EVALUATION_CONCURRENCY: "2.5" }, /HEDDLE_EVALUATION_CONCURRENCY must be a whole number/],
  [{ HEDDLE_EVALUATION_TIMEOUT: "1m" }, /HEDDLE_EVALUATION_TIMEOUT must be seconds from 1 to 86400/],
  [{ HEDDLE_OTLP_SESSION_THREADS: "false" }, /HEDDLE_OTLP_SESSION_THREADS must be on or off/],
  [{ HEDDLE_DATABASE_URL: "mysql://host/heddle" }, /postgres: or file: URL/],
  [{ HEDDLE_DATABASE_URL: "/var/lib/heddle.db" }, /postgres: or file: URL/],
  [{ HEDDLE_BLOBS_URL: "gs://bucket/x" }, /must be a directory or s3:/],
  [{ HEDDLE_BLOBS_URL: "s3://bucket/x" }, /AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/],
  [
    {
      HEDDLE_BLOBS_URL: "s3://bucket/x",
      AWS_ACCESS_KEY_ID: "id",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_ENDPOINT_URL: "minio:9000",
    },
    /AWS_ENDPOINT_URL must be an http or https URL/,
  ],
])("%o is refused with one clear line", (env, message) => {
  expect(() => readConfig(env)).toThrow(ConfigError);
  expect(() => readConfig(env)).toThrow(message);
});

test("the port for gRPC may be free, taken or closed", () => {
  const read = (port: string) => readConfig({ HEDDLE_OTLP_GRPC_PORT: port }).otlpGrpcPort;
  expect([read("0"), read("4318"), read("off"), read("")]).toEqual([0, 4318, "off", undefined]);
});
