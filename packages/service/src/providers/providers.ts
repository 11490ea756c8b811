import { HeddleError } from "@heddle/errors";
import { writeJson } from "@heddle/server-stub";
import { openOutgoing } from "./outgoing.js";
import type { ObservedRequest, OutgoingResponse } from "./outgoing.js";
import type { Provider, ProviderKind } from "../config/provider-settings.js";

/** A configured provider and the only way to it. */
export interface ConnectedProvider extends Provider {
  /** Sends to the provider, with its key. `path` is appended to the base URL. */
  send(
    method: "GET" | "POST",
    path: string,
    options?: { body?: unknown; timeoutMs?: number; maxResponseBytes?: number; signal?: AbortSignal },
  ): Promise<OutgoingResponse>;
  /** Reads a file from the provider's own origin or one of its download origins, without its key. */
  download(url: string, signal?: AbortSignal): Promise<OutgoingResponse>;
  /** The same text without the key of the provider, which error messages of servers may repeat. */
  withoutKey(text: string): string;
}

export interface Providers {
  /** Those of a kind, in the order of the file. */
  of(kind: ProviderKind): readonly ConnectedProvider[];
  /**
   * The provider that serves a model, and the name of the model there: `provider/model` names both, otherwise the first
   * provider whose models include it is taken. Throws `invalid` with the setting that is missing.
   */
  forModel(kind: ProviderKind, model: string): { provider: ConnectedProvider; model: string };
}

/** Connects to nothing before the first request. `onEnd` is called with the name of the provider after each request. */
export function openProviders(
  configured: readonly Provider[],
  onEnd?: (provider: string, request: ObservedRequest) => void,
): Providers {
  const providers = configured.map((provider) => connect(provider, onEnd));
  const ofKind = (kind: ProviderKind) => providers.filter(({ kinds }) => kinds.includes(kind));

  return {
    of: ofKind,
    forModel(kind, model) {
      const found = find(ofKind(kind), model);
      if (found === undefined) {
        throw new HeddleError(
          "invalid",
          `no provider is configured for ${kind} with this model: HEDDLE_PROVIDERS configures providers`,
          { loc: ["model"] },
        );
      }
      const { name, missingKey } = found.provider;
      if (missingKey !== undefined) {
        throw new HeddleError(
          "invalid",
          `the provider ${name} has no API key: set ${missingKey} in the environment of the service`,
          { loc: ["model"], details: { api_key: missingKey } },
        );
      }
      return found;
    },
  };
}

function find(providers: readonly ConnectedProvider[], model: string) {
  for (const provider of providers) {
    const prefix = `${provider.name}/`;
    if (model.startsWith(prefix) && model.length > prefix.length) {
      return { provider, model: model.slice(prefix.length) };
    }
  }
  const provider = providers.find(({ models }) => models.some((pattern) => matches(pattern, model)));
  return provider && { provider, model };
}

function matches(pattern: string, model: string): boolean {
  return pattern.endsWith("*") ? model.startsWith(pattern.slice(0, -1)) : model === pattern;
}

function connect(provider: Provider, onEnd?: Parameters<typeof openProviders>[1]): ConnectedProvider {
  const { name, baseUrl, apiKey, allowPrivate, downloadOrigins, timeoutMs } = provider;
  const { origin } = new URL(baseUrl);
  const outgoing = openOutgoing({
    origins: [origin, ...downloadOrigins],
    allowPrivate,
    timeoutMs,
    onEnd: onEnd && ((request) => onEnd(name, request)),
  });
  return {
    ...provider,
    send: (method, path, { body, timeoutMs: waitMs, maxResponseBytes, signal } = {}) =>
      outgoing({
        method,
        url: `${baseUrl}${path}`,
        headers: {
          accept: "application/json",
          ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: writeJson(body) }),
        timeoutMs: waitMs,
        maxResponseBytes,
        signal,
      }),
    download: (url, signal) => outgoing({ method: "GET", url, signal }),
    withoutKey: (text) => (apiKey === undefined ? text : text.replaceAll(apiKey, "***")),
  };
}
