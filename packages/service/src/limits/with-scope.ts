import type { FairShare } from "@heddle/concurrency";
import { onResponseEnd } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse, HttpServer, ResponseEnd, Sink } from "@heddle/server-stub";
import { compressResponse } from "../compression/compress-response.js";
import { currentSharer, RequestScope, runInScope } from "./request-scope.js";
import { RevocableRequest } from "./revocable-request.js";

/** Sees every request; must not throw. */
export interface RequestObserver {
  onBegin?(scope: RequestScope, request: HttpRequest): void;
  /** Called in the scope of the request, when its response is sent. */
  onEnd(scope: RequestScope, request: EndedRequest): void;
}

interface EndedRequest {
  status: number;
  end: ResponseEnd;
  /** Until the last byte of a stream. */
  ms: number;
}

export interface ScopeOptions {
  /** Shared by all requests. */
  memory: FairShare;
  /** Most bytes of one response. */
  maxBytes: number;
  observers?: readonly RequestObserver[];
}

/**
 * A server whose requests each have a scope, from their beginning until their response is sent. What is counted and limited
 * of a response is what it is before it is compressed.
 */
export function withScope(server: HttpServer, { memory, maxBytes, observers = [] }: ScopeOptions): HttpServer {
  return (incoming) => {
    const request = new RevocableRequest(incoming, currentSharer);
    const scope = new RequestScope(request, memory, maxBytes);
    const sharer = () => scope.sharer;
    const began = performance.now();
    const end = (status: number, how: ResponseEnd): void => {
      if (scope.isEnded) return;
      const ended = { status, end: how, ms: performance.now() - began };
      for (const observer of observers) observer.onEnd(scope, ended);
      scope.end();
    };
    return runInScope(scope, async () => {
      for (const observer of observers) observer.onBegin?.(scope, request);
      let response: HttpResponse;
      try {
        response = await server(request);
      } catch (error) {
        end(500, "failed");
        throw error;
      }
      const { body, status } = response;
      if (typeof body !== "function") {
        end(status, "sent");
        return compressResponse(incoming, response, sharer);
      }
      // An adapter whose client has left does not ask for the body.
      if (incoming.signal.aborted) end(status, "disconnected");
      const revocable = request.cutOff(body);
      const scoped = { ...response, body: (sink: Sink) => runInScope(scope, () => revocable(sink)) };
      const ending = onResponseEnd(scoped, (how) => runInScope(scope, () => end(status, how)));
      return compressResponse(incoming, ending, sharer);
    });
  };
}
