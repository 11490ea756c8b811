import { setTimeout as delay } from "node:timers/promises";
import { HeddleError } from "@heddle/errors";
import type { HttpClient } from "../http-client.js";
import { isJsonObject } from "@heddle/exact-json";
import { ServerUnreachable, toHeddleError } from "../server-unreachable.js";
import type { ServerResponse } from "../server-response.js";
import { errorOf, readResponse, reasonOf, retryAfterMs } from "../server-response.js";
import { decodeOutput } from "./protobuf-output.js";
import { unknownOutcome } from "./unknown-outcome.js";

export interface TinkerApiSettings {
  http: HttpClient;
  /** Limit for one operation from its acceptance to its result. */
  operationTimeoutMs: number;
  /** First pause before a request is repeated; doubled each time up to 30 times its value. */
  pauseMs: number;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Type of a body of bytes; otherwise it is JSON. */
  contentType?: string;
  /**
   * Whether the request may be sent again when it is unknown whether the server has processed it. False for everything
   * that changes a model: released servers execute a repeated request again.
   */
  repeatable: boolean;
}

/** The requests of the Tinker wire that every operation is made of. */
export interface TinkerApi {
  get(path: string, signal?: AbortSignal): Promise<unknown>;
  /** Returns the response status. */
  delete(path: string, signal?: AbortSignal): Promise<number>;
  /**
   * Sends a request until it is accepted or rejected, and returns the response, whatever it says.
   *
   * @throws HeddleError of `unknownOutcome` when it is not known whether it was processed.
   */
  request(path: string, body: unknown, options: CallOptions): Promise<ServerResponse>;
  /** The same, for a request that must be accepted. */
  post(path: string, body: unknown, options: CallOptions): Promise<Record<string, unknown>>;
  /**
   * Waits for the result of an accepted request. Results of passes are asked for in the encoding that the passes have.
   *
   * @throws HeddleError `failed` when the work failed; of `unknownOutcome` when the result cannot be retrieved.
   */
  result(requestId: unknown, options?: { signal?: AbortSignal; accept?: string }): Promise<Record<string, unknown>>;
}

const server = "the training server";
/** The server holds a request for a result up to five minutes. */
const pollTimeoutMs = 310_000;
const requestTimeoutMs = 120_000;
const maxPauses = 30;
/** A repeatable request is sent at most so many times. */
const maxAttempts = 8;

export function tinkerApi({ http, operationTimeoutMs, pauseMs }: TinkerApiSettings): TinkerApi {
  async function exchange(
    method: "GET" | "POST" | "DELETE",
    path: string,
    options: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal; timeoutMs?: number },
  ): Promise<ServerResponse> {
    const { body, headers, signal, timeoutMs = requestTimeoutMs } = options;
    return readResponse(await http({ method, path, body, headers, signal, timeoutMs }), signal);
  }

  /** Repeats a request while its response says, or its failure shows, that repeating it is safe. */
  async function send(
    method: "GET" | "POST" | "DELETE",
    path: string,
    { body, contentType, signal, repeatable }: CallOptions & { body?: unknown },
  ): Promise<ServerResponse> {
    const headers = contentType === undefined ? undefined : { "content-type": contentType };
    for (let attempt = 1; ; attempt++) {
      let response: ServerResponse | undefined;
      try {
        response = await exchange(method, path, { body, headers, signal });
      } catch (error) {
        if (!(error instanceof ServerUnreachable)) throw error;
        if (error.sent && !repeatable) throw unknownOutcome(error.message, error);
        if (error.aborted || attempt >= maxAttempts) throw toHeddleError(error);
      }
      if (response) {
        const { status } = response;
        if (status < 300) return response;
        // 402: billing is paused; 425: a checkpoint is still being written. None of them was processed.
        const refused = status === 402 || status === 425 || status === 429 || status === 503;
        if (status >= 500 && !refused && !repeatable) throw unknownOutcome(errorOf(server, response).message);
        if (!refused && !(status >= 500 && repeatable)) return response;
        if (attempt >= maxAttempts) return response;
      }
      await pause(response && retryAfterMs(response), attempt, signal);
    }
  }

  async function pause(asked: number | undefined, attempt: number, signal?: AbortSignal): Promise<void> {
    const own = Math.min(pauseMs * 2 ** (attempt - 1), pauseMs * maxPauses);
    await delay(Math.min(asked ?? own, 60_000), undefined, { signal }).catch(() => undefined);
    if (signal?.aborted) throw new HeddleError("aborted", "the request was aborted");
  }

  return {
    async get(path, signal) {
      const response = await send("GET", path, { signal, repeatable: true });
      if (response.status >= 300) throw errorOf(server, response);
      return response.body;
    },
    async delete(path, signal) {
      return (await send("DELETE", path, { signal, repeatable: true })).status;
    },
    request: (path, body, options) => send("POST", path, { ...options, body }),
    async post(path, body, options) {
      return acceptedBody(path, await send("POST", path, { ...options, body }));
    },
    async result(requestId, { signal, accept } = {}) {
      if (typeof requestId !== "string" || requestId === "") {
        throw unknownOutcome(`${server} accepted a request without a request_id`);
      }
      const deadline = performance.now() + operationTimeoutMs;
      for (let failures = 0; ;) {
        if (performance.now() > deadline) {
          throw unknownOutcome(`${server} has not finished the operation within ${operationTimeoutMs / 1000} s`);
        }
        let response: ServerResponse | undefined;
        try {
          const body = { request_id: requestId };
          const headers = accept === undefined ? undefined : { accept };
          response = await exchange("POST", "retrieve_future", { body, headers, signal, timeoutMs: pollTimeoutMs });
        } catch (error) {
          if (!(error instanceof ServerUnreachable)) throw error;
          if (error.aborted) throw toHeddleError(error);
        }
        const outcome = response && outcomeOf(response);
        if (outcome !== undefined && outcome !== "wait") return outcome;
        // 408 means that the work goes on: the next request may follow at once.
        const isWaiting = outcome === "wait" && response?.status !== 429;
        failures = isWaiting ? 0 : failures + 1;
        if (response && response.status >= 500 && failures >= maxAttempts) {
          throw unknownOutcome(errorOf(server, response).message);
        }
        await pause(response && retryAfterMs(response), isWaiting ? 1 : failures, signal);
      }
    },
  };
}

/** Returns the body of an accepted request, and throws the error of another one. */
export function acceptedBody(path: string, response: ServerResponse): Record<string, unknown> {
  if (response.status >= 300) throw errorOf(server, response);
  if (!isJsonObject(response.body)) throw unknownOutcome(`${server} responded to ${path} without a JSON object`);
  return response.body;
}

/** Returns the result, `wait` when the work goes on, or undefined when the request must be repeated after a pause. */
function outcomeOf(response: ServerResponse): Record<string, unknown> | "wait" | undefined {
  const { status, body } = response;
  if (status === 408) return "wait";
  if (status === 402 || status === 425 || status === 429 || status >= 500) return undefined;
  if (status === 410) throw unknownOutcome(`${server} no longer has the result of the operation`);
  if (status >= 300) throw new HeddleError("failed", `${server} could not do the operation: ${reasonOf(body)}`);
  if (body instanceof Uint8Array) return decodeOutput(body);
  if (!isJsonObject(body)) throw unknownOutcome(`${server} returned a result that is not a JSON object`);
  if (body["type"] === "try_again") return "wait";
  if (typeof body["error"] === "string") {
    throw new HeddleError("failed", `${server} could not do the operation: ${reasonOf(body)}`);
  }
  return body;
}
