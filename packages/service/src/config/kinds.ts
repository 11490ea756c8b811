import { isIP } from "node:net";
import { resolve } from "node:path";
import type { RemoteModel } from "@heddle/remote-engine";
import { ConfigError } from "./config-error.js";
import { parseNetwork } from "./network.js";
import type { Provider } from "./provider-settings.js";
import { readProviders, readProvidersFile } from "./read-providers.js";
import { readRemoteModels } from "./read-remote-models.js";
import type { Kind, SettingContext } from "./setting.js";

export const text: Kind<string> = { rule: "a text", parse: (given) => given };

/** A text that no message or documentation shows. */
export const secret: Kind<string> = { ...text, isSecret: true };

export const matching = (pattern: RegExp, rule: string): Kind<string> => ({
  rule,
  parse: (given) => (pattern.test(given) ? given : undefined),
});

export function wholeNumber(from: number, to = Infinity): Kind<number> {
  const isOpen = to === Infinity;
  return {
    rule: isOpen ? `a whole number of at least ${from}` : `a whole number from ${from} to ${to}`,
    range: isOpen ? `at least ${from}` : `${from} to ${to}`,
    parse(given) {
      const value = Number(given);
      return Number.isSafeInteger(value) && value >= from && value <= to ? value : undefined;
    },
  };
}

export const numberFrom = (from: number, to: number): Kind<number> => ({
  rule: `a number from ${from} to ${to}`,
  range: `${from} to ${to}`,
  parse: (given) => (Number(given) >= from && Number(given) <= to ? Number(given) : undefined),
});

/** A time in seconds, in milliseconds. */
export const seconds = (from: number, to: number): Kind<number> => ({
  rule: `seconds from ${from} to ${to}`,
  range: `${from} to ${to}`,
  parse: (given) => (Number(given) >= from && Number(given) <= to ? 1000 * Number(given) : undefined),
});

const units: Record<string, number> = { MB: 1e6, GB: 1e9, MiB: 2 ** 20, GiB: 2 ** 30 };

/** A size as `2GB`, `1.5 GiB` or `900MB`, in bytes. */
export const bytes = (atLeast: number): Kind<number> => ({
  rule: `at least ${atLeast / 1e6}MB, for example 2GB or 1500MB`,
  range: `at least ${atLeast / 1e6}MB`,
  parse(given) {
    const [, number, unit = ""] = /^(\d+(?:\.\d+)?)\s*([MG]i?B)$/.exec(given) ?? [];
    const value = Math.floor(Number(number) * (units[unit] ?? 0));
    return value >= atLeast ? value : undefined;
  },
});

export function oneOf<const Value extends string>(...values: Value[]): Kind<Value> {
  const rule = `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
  return { rule, range: rule, parse: (given) => values.find((value) => value === given) };
}

export const onOrOff: Kind<boolean> = {
  rule: "on or off",
  range: "on or off",
  parse: (given) => (given === "on" ? true : given === "off" ? false : undefined),
};

/** A path of this machine, absolute. */
export const path: Kind<string> = {
  rule: "a path",
  parse: (given, { cwd, dataDir }) => resolve(cwd, given.replace("<data dir>", dataDir)),
};

/** A path of another machine. */
export const foreignPath: Kind<string> = {
  rule: "a path",
  parse: (given, { dataDir }) => given.replace("<data dir>", dataDir),
};

const isHttp = (given: string): boolean => URL.canParse(given) && /^https?:$/.test(new URL(given).protocol);

export const httpUrl = (example: string): Kind<string> => ({
  rule: `an http or https URL, for example ${example}`,
  isSecret: true,
  parse: (given) => (isHttp(given) ? given : undefined),
});

/** A tracing database besides the first. */
export interface ShardSetting {
  name: string;
  /** Of its ClickHouse server. */
  url: string;
  database: string;
}

const shardExample = "east=http://user:password@clickhouse-2:8123/trace";

/** `NAME=URL,NAME=URL`, or none. */
export const shardList: Kind<ShardSetting[]> = {
  rule: `NAME=URL separated by commas, names of a-z 0-9 - other than main, each once, and URLs with the name of a database as path, for example ${shardExample}; or none`,
  isSecret: true,
  parse(given) {
    if (given.trim() === "none") return [];
    const found = given.split(",").map((each) => shardOf(each.trim()));
    if (!found.every((shard) => shard !== undefined)) return undefined;
    const places = found.map(({ url, database }) => `${new URL(url).host} ${database}`);
    const isOnce = (texts: string[]) => new Set(texts).size === texts.length;
    return isOnce(found.map(({ name }) => name)) && isOnce(places) ? found : undefined;
  },
};

function shardOf(given: string): ShardSetting | undefined {
  const [, name = "", address = ""] = /^([a-z0-9][a-z0-9-]{0,31})=(.+)$/.exec(given) ?? [];
  if (name === "" || name === "main" || !isHttp(address)) return undefined;
  const url = new URL(address);
  const [, database] = /^\/([A-Za-z_][A-Za-z0-9_]{0,63})\/?$/.exec(url.pathname) ?? [];
  if (database === undefined || url.hash !== "") return undefined;
  url.pathname = "/";
  return { name, url: url.href, database };
}

/** Several, separated by commas. */
export const httpUrls = (example: string): Kind<string[]> => ({
  rule: `http or https URLs, separated by commas, for example ${example}`,
  isSecret: true,
  parse(given) {
    const found = given.split(",").map((url) => url.trim());
    return found.every(isHttp) ? found : undefined;
  },
});

/** Without a slash at the end. */
export const publicUrls: Kind<string[]> = {
  rule: "an http or https URL without user, query or fragment, for example https://heddle.example.com",
  parse(given) {
    const found = given.split(",").map((each) => publicUrl(each.trim()));
    return found.every((url) => url !== undefined) ? found : undefined;
  },
};

function publicUrl(given: string): string | undefined {
  const url = isHttp(given) ? new URL(given) : undefined;
  if (url === undefined || url.href !== url.origin + url.pathname || /[?#]/.test(given)) return undefined;
  return url.href.replace(/(?<!\/)\/+$/, "");
}

/** Addresses and networks. */
export const networks: Kind<string[]> = {
  rule: "addresses and networks such as 10.0.0.5,172.16.0.0/12,::1, or none",
  parse(given) {
    if (given.trim() === "none") return [];
    const found = given.split(",").map((network) => network.trim());
    return found.every((network) => parseNetwork(network) !== undefined) ? found : undefined;
  },
};

/** A host as in a URL, without a port; an IPv6 address without brackets. */
export const hostName: Kind<string> = {
  rule: "an address or host name such as 10.0.0.4 or heddle-0.heddle",
  parse: (given) => (isIP(given) !== 0 || /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(given) ? given : undefined),
};

/** A wildcard is not an origin: every page that a user of the service opens could then use it. */
export const origins: Kind<string[]> = {
  rule: "origins such as https://app.example.com, without a path",
  parse(given) {
    const found = given.split(",").flatMap((origin) => origin.trim() || []);
    return found.every((origin) => isHttp(origin) && new URL(origin).origin === origin) ? found : undefined;
  },
};

export const databaseUrl: Kind<string> = {
  rule: "a postgres: or file: URL, for example postgres://user:password@postgres:5432/heddle",
  isSecret: true,
  parse: (given) => (URL.canParse(given) && /^(postgres(ql)?:\/\/|file:\/)/.test(given) ? given : undefined),
};

/** A directory, absolute, or the URL of a bucket. */
export const blobsLocation: Kind<string> = {
  rule: "a directory or s3://bucket/prefix",
  isSecret: true,
  parse(given, context) {
    if (given.startsWith("s3://")) return given;
    return /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? undefined : path.parse(given, context);
  },
};

/** `on`: on the port of the service. An address: there, without a key. */
export const metricsPort: Kind<"off" | "on" | { host: string; port: number }> = {
  rule: "off, on or an address such as 127.0.0.1:9464",
  parse(given) {
    if (given === "off" || given === "on") return given;
    const [, bracketed, plain, digits] = /^(?:\[([\da-f:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/i.exec(given) ?? [];
    const host = bracketed ?? plain;
    const port = Number(digits);
    return host !== undefined && port <= 65_535 ? { host, port } : undefined;
  },
};

const anyPort = wholeNumber(0, 65_535);

/** A port, or none. */
export const portOrOff: Kind<number | "off"> = {
  rule: "a whole number from 0 to 65535, or off",
  parse: (given, context) => (given === "off" ? given : anyPort.parse(given, context)),
};

/** `name=value,name=value`, the values percent-encoded. */
export const headers: Kind<Record<string, string>> = {
  rule: "name=value pairs with percent-encoded values, separated by commas",
  isSecret: true,
  parse(given) {
    const found: Record<string, string> = {};
    for (const pair of given.split(",").filter((part) => part.trim() !== "")) {
      const mark = pair.indexOf("=");
      const name = pair.slice(0, Math.max(0, mark)).trim();
      const value = decode(pair.slice(mark + 1).trim());
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || value === undefined || !/^[\x20-\x7e]*$/.test(value)) return undefined;
      found[name] = value;
    }
    return found;
  },
};

function decode(given: string): string | undefined {
  try {
    return decodeURIComponent(given);
  } catch {
    return undefined;
  }
}

export const providers: Kind<Provider[]> = jsonConfig((json, { env }) => readProviders(json, env));
export const remoteModels: Kind<RemoteModel[]> = jsonConfig((json, { cwd }) => readRemoteModels(json, cwd));

/** JSON, or the path of a file with it. */
function jsonConfig<Value>(read: (json: string, context: SettingContext) => Value): Kind<Value> {
  return {
    rule: "JSON or the path of a file with JSON",
    isSecret: true,
    parse(given, context) {
      const isJson = given.startsWith("{");
      try {
        return read(isJson ? given : readProvidersFile(resolve(context.cwd, given)), context);
      } catch (error) {
        // The text itself may hold keys.
        const source = isJson ? context.name : `${context.name}: ${given}`;
        throw new ConfigError(`${source}: ${error instanceof Error ? error.message : String(error)}.`);
      }
    },
  };
}
