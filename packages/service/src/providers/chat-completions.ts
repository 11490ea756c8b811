import { setTimeout } from "node:timers/promises";
import { isJsonObject } from "@heddle/exact-json";
import { HeddleError } from "@heddle/errors";
import type { RawJson } from "@heddle/server-stub";
import { withPrefix } from "../error-prefix.js";
import { errorText, jsonObject } from "./json-response.js";
import type { OutgoingResponse } from "./outgoing.js";
import type { ConnectedProvider, Providers } from "./providers.js";

/** A request of the OpenAI API without `model`. */
export interface ChatRequest {
  messages: readonly unknown[] | RawJson;
  [parameter: string]: unknown;
}

export interface ChatCompletion {
  /** Of the first choice: `content`, `tool_calls`… as the server sent them. */
  message: Readonly<Record<string, unknown>>;
  /** Why the server stopped: `length` for a text that was cut at the limit of tokens. */
  finishReason: string | undefined;
  /** As the server counted the tokens; absent when it is too large to be a count. */
  usage: Readonly<Record<string, unknown>> | undefined;
}

/** A model that completes chats. */
export interface ChatModel {
  /**
   * Throws a `HeddleError` whose message is fit for users and holds no credentials: `busy` for a server that does not
   * respond after all attempts, `denied` for one that refuses the key, `failed` for a response that cannot be used and
   * `aborted` when `signal` ended the request.
   */
  complete(request: ChatRequest, signal: AbortSignal): Promise<ChatCompletion>;
}

/** Milliseconds between attempts. */
export interface RetryTimes {
  /** Doubled for each further attempt; the pause is random up to this. */
  firstMs: number;
  maxMs: number;
  /** A server that asks for a longer pause counts as busy at once. */
  maxRetryAfterMs: number;
}

const usualTimes: RetryTimes = { firstMs: 500, maxMs: 10_000, maxRetryAfterMs: 60_000 };
const maxAttempts = 5;
/** Attempts end when together they have taken this many timeouts of the provider: a timeout is tried again once. */
const maxTimeouts = 1.5;
/** Of text: an output must fit into a call. */
const maxResponseBytes = 8 * 1024 * 1024;
/** Characters of JSON: it is kept with every call. */
const maxUsage = 10_000;

/**
 * The model of a name: `<provider>/<model>`, or a name that a configured provider lists. Throws `invalid` with the setting
 * that is missing.
 */
export function chatModel(providers: Providers, name: string, times: RetryTimes = usualTimes): ChatModel {
  const { provider, model } = providers.forModel("chat-completions", name);
  return {
    async complete(request, signal) {
      const response = await sendWithRetries(provider, { ...request, model }, signal, times);
      if (response.status < 200 || response.status > 299) throw refused(provider, response);
      return completionOf(provider, response);
    },
  };
}

/** Repeats a request that the server did not answer for reasons that may pass. */
async function sendWithRetries(
  provider: ConnectedProvider,
  body: unknown,
  signal: AbortSignal,
  times: RetryTimes,
): Promise<OutgoingResponse> {
  let spentMs = 0;
  for (let attempt = 1; ; attempt++) {
    const began = performance.now();
    const outcome = await send(provider, body, signal);
    spentMs += performance.now() - began;
    const pauseMs = outcome.retryAfterMs ?? Math.random() * Math.min(times.maxMs, times.firstMs * 2 ** (attempt - 1));
    const isLast =
      attempt === maxAttempts || pauseMs > times.maxRetryAfterMs || spentMs > maxTimeouts * provider.timeoutMs;
    if (!outcome.mayPass || isLast) {
      if (outcome.response !== undefined) return outcome.response;
      throw outcome.error;
    }
    await pause(pauseMs, signal);
  }
}

interface Outcome {
  response?: OutgoingResponse;
  error?: HeddleError;
  /** Whether another attempt may end otherwise. */
  mayPass: boolean;
  retryAfterMs?: number | undefined;
}

async function send(provider: ConnectedProvider, body: unknown, signal: AbortSignal): Promise<Outcome> {
  try {
    const response = await withPrefix(provider.name, async () =>
      provider.send("POST", "/chat/completions", { body, maxResponseBytes, signal }),
    );
    const { status, headers } = response;
    const mayPass = (status === 408 || status === 429 || status > 499) && headers["x-should-retry"] !== "false";
    return { response, mayPass, retryAfterMs: retryAfterOf(headers["retry-after"]) };
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    return { error, mayPass: error.code === "busy" };
  }
}

/** Seconds, or a date. */
function retryAfterOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(header.trim())) return 1000 * Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {
    throw new HeddleError("aborted", "the request was cancelled");
  });
}

function refused(provider: ConnectedProvider, response: OutgoingResponse): HeddleError {
  const { status } = response;
  const code = status === 401 || status === 403 ? "denied" : status === 429 || status > 499 ? "busy" : "failed";
  return new HeddleError(code, `${provider.name}: ${errorText(response, provider)}`);
}

function completionOf(provider: ConnectedProvider, response: OutgoingResponse): ChatCompletion {
  const fault = (reason: string) => new HeddleError("failed", `${provider.name}: ${reason}`);
  const parsed = withPrefix(provider.name, () => jsonObject(response));
  // Some servers report errors with status 200.
  if (isJsonObject(parsed["error"])) throw fault(errorText(response, provider));
  // Written again, so that no escape hides the key.
  const { choices, usage } = JSON.parse(provider.withoutKey(JSON.stringify(parsed))) as typeof parsed;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (!isJsonObject(choice) || !isJsonObject(choice["message"]))
    throw fault("the response has no choice with a message");
  const { message, finish_reason } = choice;
  return {
    message,
    finishReason: typeof finish_reason === "string" ? finish_reason : undefined,
    usage: isJsonObject(usage) && JSON.stringify(usage).length <= maxUsage ? usage : undefined,
  };
}
