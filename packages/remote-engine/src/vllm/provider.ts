import { setTimeout as delay } from "node:timers/promises";
import { openVocabulary } from "@heddle/chat-format";
import { isJsonObject } from "@heddle/exact-json";
import { HeddleError, withLoc } from "@heddle/errors";
import type { CompletionChunk, GenerateRequest, GenerateResult, SamplerProvider, WeightsRef } from "@heddle/training";
import type { HttpResponse } from "../http-client.js";
import { openHttpClient } from "../http-client.js";
import type { RemoteModel } from "../remote-model.js";
import { requireDigest } from "../checkpoint-directory.js";
import { describeRemoteModels } from "../remote-model.js";
import type { ServerResponse } from "../server-response.js";
import { errorOf, readResponse, reasonOf, retryAfterMs } from "../server-response.js";
import { ServerUnreachable, toHeddleError } from "../server-unreachable.js";
import type { AdapterLease } from "./adapters.js";
import { vllmAdapters } from "./adapters.js";
import { completionReader } from "./completion-reader.js";
import type { Dialect } from "./dialect.js";
import { dialectOf, vllm } from "./dialect.js";
import { readEvents } from "./event-stream.js";
import { replicatedSampler } from "./replicated-sampler.js";

export interface VllmSettings {
  /** Address of the server, without `/v1`, or addresses of several that serve the same models. */
  url: string | readonly string[];
  /** Sent as a bearer token. */
  apiKey?: string;
  /** Models with `inference`. */
  models: readonly RemoteModel[];
  /** Returns the path at which the server finds a directory of this machine. Default: the same path. */
  serverPath?: (directory: string) => string;
  /** For servers that fetch adapters instead of reading them from a file system of both machines. Replaces `serverPath`. */
  hub?: AdapterHub | undefined;
  /** Maximum number of adapters that stay loaded without a request. Default 8. */
  maxLoadedAdapters?: number;
  /** Limit until the server sends the first byte of a completion, and for each pause after it. Default 10 minutes. */
  responseTimeoutMs?: number;
  /** First pause before a request is repeated. Default 500 ms. */
  pauseMs?: number;
}

/** What serves adapters as a hub of Hugging Face serves models. */
interface AdapterHub {
  /** Value of `HF_ENDPOINT` of the servers. */
  url: string;
  /** Returns the name of the repository that has the adapter in a directory of this machine. */
  repositoryOf(directory: string): Promise<string>;
}

const server = "the inference server";
/** A request is sent at most so many times. */
const maxAttempts = 5;
const maxPauseMs = 10_000;
/** Loading an adapter of some hundred MB takes less. */
const adapterTimeoutMs = 120_000;

/** Opens the sampler of a vLLM or SGLang server, or of several. Nothing is sent before the first call. */
export function openVllmSampler(settings: VllmSettings): SamplerProvider {
  const urls = typeof settings.url === "string" ? [settings.url] : [...new Set(settings.url)];
  const [only = "", second] = urls;
  if (second === undefined) return openOne({ ...settings, url: only });
  return replicatedSampler(urls.map((url) => ({ host: new URL(url).host, provider: openOne({ ...settings, url }) })));
}

function openOne(settings: VllmSettings & { url: string }): SamplerProvider {
  const { apiKey, hub, serverPath = (directory) => directory, responseTimeoutMs = 600_000, pauseMs = 500 } = settings;
  const http = openHttpClient({ url: settings.url, headers: apiKey ? { authorization: `Bearer ${apiKey}` } : {} });
  const post = async (path: string, body: unknown): Promise<ServerResponse> => {
    try {
      return await readResponse(await http({ method: "POST", path, body, timeoutMs: adapterTimeoutMs }));
    } catch (error) {
      throw toHeddleError(error);
    }
  };
  /** Once it is known. */
  let known: Dialect | undefined;
  const adapters = vllmAdapters({
    post,
    dialect,
    serverPath: (directory) => (hub ? hub.repositoryOf(directory) : serverPath(directory)),
    hub: hub?.url,
    maxLoaded: settings.maxLoadedAdapters ?? 8,
  });
  const closing = new AbortController();
  /** End-of-text tokens by directory of a model. */
  const eosIds = new Map<string, Promise<readonly number[]>>();

  const served = settings.models.flatMap(({ inference, ...model }) => (inference ? [{ ...model, inference }] : []));

  function modelOf(name: string) {
    const model = served.find((each) => each.name === name);
    if (model) return model;
    throw new HeddleError("not_found", `${server} has no model for ${name}`, { loc: ["baseModel"] });
  }

  /** What the server does not say now, requests to it will. */
  async function dialect(): Promise<Dialect> {
    if (known) return known;
    try {
      const models = await readResponse(await http({ method: "GET", path: "v1/models", timeoutMs: 5000 }));
      if (models.status < 300) known = dialectOf(models.body);
    } catch {
      return vllm;
    }
    return known ?? vllm;
  }

  function eosIdsOf(directory: string): Promise<readonly number[]> {
    const known = eosIds.get(directory) ?? openVocabulary(directory).then((tokenizer) => tokenizer.eosIds);
    eosIds.set(directory, known);
    known.catch(() => eosIds.delete(directory));
    return known;
  }

  /** The name of a lease is that of the adapter; undefined for a base model. */
  async function acquire(weights: WeightsRef): Promise<{ name?: string; release: AdapterLease["release"] }> {
    const { baseModel, checkpoint } = weights;
    modelOf(baseModel);
    // Which weights the server has under the name of a base model cannot be verified.
    if (checkpoint === undefined) return { release: () => undefined };
    const lease = await adapters.acquire(checkpoint);
    try {
      requireDigest(weights, lease.digest);
      return lease;
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  async function generate(
    request: GenerateRequest,
    { onChunk, signal }: { onChunk?: (chunk: CompletionChunk) => void; signal?: AbortSignal } = {},
  ): Promise<GenerateResult> {
    // What no server can do needs no question.
    refuse(vllm.unsupportedFields(request));
    const { unsupportedFields, canStream, completion, lacksAdapter } = await dialect();
    refuse(unsupportedFields(request));
    const { baseModel, checkpoint } = request.weights;
    const { directory, inference } = withLoc(["weights"], () => modelOf(baseModel));
    const ending = await eosIdsOf(directory);
    const abort = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal;
    for (let attempt = 1; ; attempt++) {
      if (abort.aborted) throw new HeddleError("aborted", "the request was aborted");
      const lease = await withLoc(["weights"], () => acquire(request.weights));
      try {
        const { body, model } = completion(request, { base: inference.model, adapter: lease.name }, ending);
        const response = await sendCompletion(body, abort);
        if (response.status >= 300) {
          const refused = await readResponse(response, abort);
          if (checkpoint === undefined || attempt === maxAttempts || !lacksAdapter(refused))
            throw completionError(refused);
          // The server was restarted or has evicted the adapter: it is loaded again.
          adapters.forget(checkpoint);
          continue;
        }
        const reader = completionReader(request, model, ending);
        const chunks = canStream(request) ? readEvents(response.stream) : oneChunk(response, abort);
        try {
          for await (const chunk of chunks) for (const part of reader.add(chunk)) onChunk?.(part);
        } finally {
          response.stream.destroy();
        }
        return reader.result(checkpoint ?? baseModel);
      } catch (error) {
        throw generationError(error, abort);
      } finally {
        lease.release();
      }
    }
  }

  /**
   * Sends a completion request, again if the server has not begun it: it refuses connections or requests. Nothing is
   * sent again after a response has begun.
   */
  async function sendCompletion(body: Record<string, unknown>, signal: AbortSignal): Promise<HttpResponse> {
    for (let attempt = 1; ; attempt++) {
      let pause: number | undefined;
      try {
        const request = { method: "POST", path: "v1/completions", body, signal, timeoutMs: responseTimeoutMs } as const;
        const response = await http(request);
        if (![429, 503].includes(response.status) || attempt === maxAttempts) return response;
        pause = retryAfterMs(await readResponse(response, signal));
      } catch (error) {
        if (!(error instanceof ServerUnreachable) || error.sent || error.aborted || attempt === maxAttempts)
          throw error;
      }
      await delay(Math.min(pause ?? pauseMs * 2 ** (attempt - 1), maxPauseMs), undefined, { signal });
    }
  }

  return {
    models: new Set(served.map(({ name }) => name)),
    async capabilities() {
      const { described, unavailableModels } = await describeRemoteModels(served);
      const models = described.map(({ model, info }) => {
        const contextLength = model.inference.contextLength ?? info.contextLength;
        return { ...info, sampling: { contextLength, fullWeights: false } };
      });
      return { models, unavailableModels };
    },
    async health() {
      try {
        const models = await readResponse(await http({ method: "GET", path: "v1/models", timeoutMs: 5000 }));
        if (models.status >= 300) throw errorOf(server, models);
        const missing = served.find(({ inference }) => !modelNames(models.body).includes(inference.model));
        if (missing) return { ok: false, detail: `${server} does not serve ${missing.inference.model}` };
        return { ok: true };
      } catch (error) {
        return { ok: false, detail: `${server}: ${error instanceof Error ? error.message : String(error)}` };
      }
    },
    sampler: {
      unsupportedFields: (request) => (known ?? vllm).unsupportedFields(request),
      generate,
      async preload(weights) {
        (await acquire(weights)).release();
      },
      async unload({ checkpoint }) {
        if (checkpoint !== undefined) await adapters.unload(checkpoint);
      },
    },
    async close() {
      closing.abort();
    },
  };
}

async function* oneChunk(response: HttpResponse, signal: AbortSignal): AsyncGenerator {
  yield (await readResponse(response, signal)).body;
}

function refuse([first, ...more]: readonly (keyof GenerateRequest)[]): void {
  if (first === undefined) return;
  const message = `${server} does not support: ${[first, ...more].join(", ")}`;
  throw new HeddleError("unsupported", message, { loc: [first] });
}

/** A rejected request names the server's parameter, which is not a field of the port. */
function completionError(response: ServerResponse): HeddleError {
  if (response.status !== 400 && response.status !== 422) return errorOf(server, response);
  return new HeddleError("invalid", `${server} rejects the request: ${reasonOf(response.body)}`, { loc: [] });
}

function generationError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return new HeddleError("aborted", "the request was aborted", { cause: error });
  if (error instanceof HeddleError) return error;
  if (error instanceof ServerUnreachable) return toHeddleError(error);
  // The connection was lost while the completion was streamed.
  return new HeddleError("failed", `${server} closed the connection before the end of the completion`, {
    cause: error,
  });
}

function modelNames(body: unknown): string[] {
  const data = isJsonObject(body) && Array.isArray(body["data"]) ? (body["data"] as unknown[]) : [];
  return data.flatMap((model) => (isJsonObject(model) && typeof model["id"] === "string" ? [model["id"]] : []));
}
