import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { S3Access } from "@heddle/blob-store";
import { defaultDatabase } from "@heddle/trace-store";
import { ConfigError } from "./config-error.js";
import { describeSetting, readSettings, settingsOf } from "./setting.js";
import type { SettingContext, ValuesOf } from "./setting.js";
import { settings, traceSettings } from "./settings.js";

type Values = ValuesOf<typeof settings>;

/** What the settings say. The fields are those of the table of settings; undefined is what `unset` says there. */
export interface Config extends Omit<Values, "publicUrls"> {
  /** Where clients reach the service, without a slash at the end; undefined = as each request says. */
  publicUrl: string | undefined;
  /** All places where clients reach the service. */
  publicUrls: readonly string[];
  /** With a `blobsUrl` of S3. */
  s3: S3Access | undefined;
  observability: ObservabilitySettings;
}

/** What one key, or one request, may use of the service. */
export type Limits = Values["limits"];
export type LogSettings = Values["observability"]["log"];

/** Logs, metrics and traces of the service itself. */
export interface ObservabilitySettings {
  log: LogSettings;
  metrics: Values["observability"]["metrics"];
  /** Undefined = none are sent. */
  traces: TraceSettings | undefined;
}

export interface TraceSettings extends Omit<ValuesOf<typeof traceSettings>, "endpoint"> {
  /** Of an OTLP receiver, with the path of traces. */
  url: string;
}

/** What the documentation says of every setting. */
export const documentedSettings = [...settingsOf(settings), ...settingsOf(traceSettings)].map(describeSetting);

const names = new Set(documentedSettings.map(({ name }) => name));

/** Of programs that ask a service, or are traced into it. A shell that has them may run the service, too. */
const ofClients = new Set(["HEDDLE_URL", "HEDDLE_PROJECT"]);

/** Whether an environment variable is a setting. */
export const isSettingName = (name: string): boolean => names.has(name);

/**
 * Reads the settings; relative paths are taken from `cwd`. `process.env` is read here and nowhere else. Throws
 * {@link ConfigError}.
 */
export function readConfig(env: NodeJS.ProcessEnv = process.env, cwd: string = process.cwd()): Config {
  for (const name of Object.keys(env)) {
    if (name.startsWith("HEDDLE_") && !names.has(name) && !ofClients.has(name)) {
      throw new ConfigError(`${name} is not a setting of this version. Known: ${[...names].join(", ")}.`);
    }
  }
  const { dataDir } = readSettings({ dataDir: settings.dataDir }, { env, cwd, dataDir: "" });
  const context = { env, cwd, dataDir };
  const values = readSettings(settings, context);
  checkLimits(values.limits);
  checkRemoteEngine(values.remoteEngine);
  if (values.replicaAddress !== undefined) checkReplica(values, env);
  checkCluster(values);
  checkShards(values);
  if (values.workers > 1) checkWorkers(values);
  const { publicUrls = [] } = values;
  return {
    ...values,
    publicUrl: publicUrls[0],
    publicUrls,
    s3: values.blobsUrl.startsWith("s3://") ? s3Access(env) : undefined,
    observability: { ...values.observability, traces: tracesOf(context) },
  };
}

/** One key has half of the memory: a response that is permitted must fit into it. */
function checkLimits({ workingMemoryBytes, maxResponseBytes }: Limits): void {
  if (workingMemoryBytes >= 2 * maxResponseBytes) return;
  const { workingMemoryBytes: memory, maxResponseBytes: response } = settings.limits;
  throw new ConfigError(`${memory.name} must be at least twice ${response.name}.`);
}

/** What the replicas of an installation share must not be in the data directory of one of them. */
function checkReplica(values: Values, env: NodeJS.ProcessEnv): void {
  const { replicaAddress, databaseUrl, clickhouseUrl, apiKey, blobsUrl } = settings;
  const shared = [
    [databaseUrl, values.databaseUrl],
    [clickhouseUrl, values.clickhouseUrl],
    [apiKey, values.apiKey],
    [blobsUrl, env[blobsUrl.name]],
  ] as const;
  const missing = shared.flatMap(([{ name }, value]) => (value === undefined || value === "" ? [name] : []));
  if (missing.length === 0) return;
  throw new ConfigError(`${replicaAddress.name} is set: what the replicas share needs ${missing.join(", ")}, too.`);
}

/** The embedded engine belongs to no cluster. */
function checkCluster({ clickhouseCluster, clickhouseUrl }: Values): void {
  if (clickhouseCluster === undefined || clickhouseUrl !== undefined) return;
  throw new ConfigError(`${settings.clickhouseCluster.name} is set: it needs ${settings.clickhouseUrl.name}, too.`);
}

/** Several tracing databases are of replicas; one may be the only one. */
function checkShards({ shards, replicaAddress, clickhouseUrl }: Values): void {
  if (shards.length === 0) return;
  if (replicaAddress === undefined) {
    throw new ConfigError(`${settings.shards.name} is set: it needs ${settings.replicaAddress.name}, too.`);
  }
  const first = clickhouseUrl && new URL(clickhouseUrl).host;
  const twin = shards.find(({ url, database }) => new URL(url).host === first && database === defaultDatabase);
  if (twin !== undefined) {
    throw new ConfigError(
      `${settings.shards.name}: ${twin.name} is the database of ${settings.clickhouseUrl.name}, "${defaultDatabase}". Give it another one.`,
    );
  }
}

/** Workers share what is on this machine; what several machines share is for replicas. */
function checkWorkers({ replicaAddress }: Values): void {
  if (replicaAddress === undefined) return;
  throw new ConfigError(
    `${settings.workers.name} and ${settings.replicaAddress.name} exclude each other: start a replica for each core.`,
  );
}

/** Where the models that have `trainer` are trained, and those that have `inference` sampled from. */
function checkRemoteEngine({ models, trainerUrl, inferenceUrl }: Values["remoteEngine"]): void {
  const table = settings.remoteEngine;
  for (const [role, { name }, url] of [
    ["trainer", table.trainerUrl, trainerUrl?.[0]],
    ["inference", table.inferenceUrl, inferenceUrl?.[0]],
  ] as const) {
    const model = models.find((each) => each[role] !== undefined);
    if (url === undefined && model !== undefined) {
      throw new ConfigError(`${table.models.name}: ${model.name} has ${role}, and ${name} is not set.`);
    }
    if (url !== undefined && model === undefined) {
      throw new ConfigError(`${name} is set, and no model of ${table.models.name} has ${role}.`);
    }
  }
}

function tracesOf(context: Omit<SettingContext, "name">): TraceSettings | undefined {
  const { endpoint: setting } = traceSettings;
  if (readSettings({ setting }, context).setting === undefined) return undefined;
  const { endpoint = "", ...others } = readSettings(traceSettings, context);
  return { url: `${endpoint.replace(/(?<!\/)\/+$/, "")}/v1/traces`, ...others };
}

/** The variables that every S3 tool reads. */
function s3Access(env: NodeJS.ProcessEnv): S3Access {
  const get = (name: string): string | undefined => env[`AWS_${name}`]?.trim() || undefined;
  const [accessKeyId, secretAccessKey] = [get("ACCESS_KEY_ID"), get("SECRET_ACCESS_KEY")];
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new ConfigError(`${settings.blobsUrl.name} on S3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`);
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

export const defaultLimits: Limits = readSettings(settings.limits, { env: {}, cwd: "", dataDir: "" });

/** URL of the database of keys, users, projects, annotation queues and jobs. */
export const controlPlaneUrl = ({ databaseUrl, dataDir }: Config): string =>
  databaseUrl ?? pathToFileURL(join(dataDir, "control.db")).href;
