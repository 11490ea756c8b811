import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Every environment variable of the service: its default and its meaning. `process.env` is read here and nowhere else.
 * The docs guide "Operating the service" is held against this table by a test.
 */
export const variables = {
  HEDDLE_HOST: { default: "127.0.0.1", meaning: "address to listen on" },
  HEDDLE_PORT: { default: "4680", meaning: "port to listen on; 0 picks a free one and prints it" },
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
  HEDDLE_BLOBS_URL: { default: "<data dir>/blobs", meaning: "directory that keeps the bytes of files" },
} as const;

type Variable = keyof typeof variables;

export interface Config {
  host: string;
  port: number;
  data_dir: string;
  api_key: string | undefined;
  default_entity: string;
  clickhouse_url: string | undefined;
  blobs_dir: string;
}

/** A setting that cannot work; `message` is one line that says which and what to do. */
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
  const api_key = get("HEDDLE_API_KEY");
  if (api_key !== undefined && !ownerKey.test(api_key)) {
    throw new ConfigError(
      "HEDDLE_API_KEY needs at least 40 characters of A-Z a-z 0-9 _ (client libraries refuse other keys). Unset it to have one made.",
    );
  }
  const default_entity = get("HEDDLE_DEFAULT_ENTITY") ?? variables.HEDDLE_DEFAULT_ENTITY.default;
  if (!entityName.test(default_entity)) {
    throw new ConfigError(`HEDDLE_DEFAULT_ENTITY must be letters, digits, _ . -, not "${default_entity}".`);
  }
  const data_dir = resolve(cwd, get("HEDDLE_DATA_DIR") ?? variables.HEDDLE_DATA_DIR.default);
  return {
    host: get("HEDDLE_HOST") ?? variables.HEDDLE_HOST.default,
    port,
    data_dir,
    api_key,
    default_entity,
    clickhouse_url: httpUrl("HEDDLE_CLICKHOUSE_URL", get("HEDDLE_CLICKHOUSE_URL")),
    blobs_dir: directory("HEDDLE_BLOBS_URL", get("HEDDLE_BLOBS_URL"), cwd) ?? resolve(data_dir, "blobs"),
  };
}

function httpUrl(name: Variable, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new ConfigError(`${name} must be an http or https URL, for example http://user:password@clickhouse:8123.`);
  }
  return text;
}

function directory(name: Variable, text: string | undefined, cwd: string): string | undefined {
  if (text === undefined) return undefined;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    throw new ConfigError(`${name} must be a directory; other places are not supported by this version.`);
  }
  return resolve(cwd, text);
}

/** Where keys, users and projects are kept. */
export const controlPlaneUrl = (config: Config): string => pathToFileURL(join(config.data_dir, "control.db")).href;
