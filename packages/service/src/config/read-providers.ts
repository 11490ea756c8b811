import { readFileSync } from "node:fs";
import { isJsonObject } from "@heddle/exact-json";
import { providerKinds } from "./provider-settings.js";
import type { Provider, ProviderKind } from "./provider-settings.js";

const providerName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const defaultTimeoutSeconds = 120;
const maxTimeoutSeconds = 3600;

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads the JSON object that configures providers by name. Throws an `Error` whose message names the member and what it
 * must be; it never holds a value, which may be a key.
 */
export function readProviders(text: string, env: NodeJS.ProcessEnv): Provider[] {
  return Object.entries(parse(text)).map(([name, value]) => {
    if (!providerName.test(name)) throw new Error(`"${name}" must be letters, digits, _ . -, at most 64`);
    return new ProviderReader(name, env).read(value);
  });
}

/** Reads the text of the file that configures providers. */
export function readProvidersFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot be read: ${reason}`, { cause: error });
  }
}

function parse(text: string): Members {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which holds keys.
    throw new Error("is not valid JSON");
  }
  if (!isJsonObject(value)) throw new Error("must be a JSON object of providers by name");
  return value;
}

const memberNames = [
  "baseUrl",
  "apiKey",
  "apiKeyEnv",
  "kinds",
  "models",
  "allowPrivate",
  "downloadOrigins",
  "imageParameters",
  "timeoutSeconds",
];

class ProviderReader {
  readonly #name: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(name: string, env: NodeJS.ProcessEnv) {
    this.#name = name;
    this.#env = env;
  }

  read(value: unknown): Provider {
    if (!isJsonObject(value)) throw new Error(`${this.#name} must be an object`);
    for (const member of Object.keys(value)) {
      if (!memberNames.includes(member)) {
        throw this.#error(member, `is not known. Known: ${memberNames.join(", ")}`);
      }
    }
    const allowPrivate = this.#boolean(value, "allowPrivate");
    const kinds = this.#texts(value, "kinds").map((kind) => this.#kind(kind));
    if (kinds.length === 0) throw this.#error("kinds", `must list at least one of ${providerKinds.join(", ")}`);
    return {
      name: this.#name,
      baseUrl: this.#url(value["baseUrl"], "baseUrl", allowPrivate).href.replace(/(?<!\/)\/+$/, ""),
      ...this.#key(value),
      kinds,
      models: this.#texts(value, "models"),
      allowPrivate,
      downloadOrigins: this.#texts(value, "downloadOrigins").map((text) => this.#origin(text, allowPrivate)),
      imageParameters: this.#imageParameters(value),
      timeoutMs: 1000 * this.#timeoutSeconds(value),
    };
  }

  #key(value: Members): Pick<Provider, "apiKey" | "missingKey"> {
    const { apiKey, apiKeyEnv } = value;
    if (apiKey !== undefined && apiKeyEnv !== undefined) {
      throw this.#error("apiKey", "and apiKeyEnv exclude each other");
    }
    if (apiKeyEnv === undefined) {
      return { apiKey: apiKey === undefined ? undefined : this.#keyText(apiKey, "apiKey"), missingKey: undefined };
    }
    if (typeof apiKeyEnv !== "string" || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(apiKeyEnv)) {
      throw this.#error("apiKeyEnv", "must be the name of an environment variable");
    }
    const key = this.#env[apiKeyEnv]?.trim();
    if (!key) return { apiKey: undefined, missingKey: apiKeyEnv };
    return { apiKey: this.#keyText(key, `apiKeyEnv: the value of ${apiKeyEnv}`), missingKey: undefined };
  }

  /** What cannot be sent in a header would fail every request. */
  #keyText(key: unknown, member: string): string {
    if (typeof key === "string" && /^[\x21-\x7e]+$/.test(key)) return key;
    throw this.#error(member, "must be text of visible ASCII characters without spaces");
  }

  #url(value: unknown, member: string, allowPrivate: boolean): URL {
    const example = "https://api.example.com/v1";
    if (typeof value !== "string" || !URL.canParse(value)) throw this.#error(member, `must be a URL, as ${example}`);
    const url = new URL(value);
    if (url.protocol !== "https:" && !(url.protocol === "http:" && allowPrivate)) {
      throw this.#error(member, "must be an https URL; http is possible with allowPrivate");
    }
    if (url.username !== "" || url.password !== "") {
      throw this.#error(member, "must not hold a user name or a password: use apiKey or apiKeyEnv");
    }
    if (url.search !== "" || url.hash !== "") throw this.#error(member, "must have neither a query nor a fragment");
    return url;
  }

  #origin(text: string, allowPrivate: boolean): string {
    const url = this.#url(text, "downloadOrigins", allowPrivate);
    if (url.pathname !== "/") throw this.#error("downloadOrigins", "must be origins, as https://images.example.com");
    return url.origin;
  }

  #kind(text: string): ProviderKind {
    const kind = providerKinds.find((known) => known === text);
    if (kind === undefined) throw this.#error("kinds", `must be of ${providerKinds.join(", ")}`);
    return kind;
  }

  #texts(value: Members, member: string): string[] {
    const list = value[member] ?? [];
    if (Array.isArray(list) && list.every((text) => typeof text === "string" && text !== "")) return list as string[];
    throw this.#error(member, "must be a list of texts");
  }

  #boolean(value: Members, member: string): boolean {
    const flag = value[member] ?? false;
    if (typeof flag === "boolean") return flag;
    throw this.#error(member, "must be true or false");
  }

  #imageParameters(value: Members): Members {
    const parameters = value["imageParameters"] ?? {};
    if (isJsonObject(parameters)) return parameters;
    throw this.#error("imageParameters", "must be an object");
  }

  #timeoutSeconds(value: Members): number {
    const seconds = value["timeoutSeconds"] ?? defaultTimeoutSeconds;
    if (typeof seconds === "number" && seconds > 0 && seconds <= maxTimeoutSeconds) return seconds;
    throw this.#error("timeoutSeconds", `must be a number above 0, at most ${maxTimeoutSeconds}`);
  }

  #error(member: string, message: string): Error {
    return new Error(`${this.#name}.${member} ${message}`);
  }
}
