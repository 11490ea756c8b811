import type { Access } from "./access.js";
import type { OperationEntry } from "./definition.js";
import type { HttpRequest, HttpResponse } from "../http.js";

/** What is known about a request. The server fills it in while it works on the request. */
export interface RequestContext<Caller = unknown> {
  /** Undefined where the path is unknown, or has no such method. */
  readonly operation: OperationEntry | undefined;
  /** What `authenticate` returned; undefined before that, and for public operations. */
  readonly caller: Caller | undefined;
  /** The right and the project that `authorize` gets; undefined before that, and for public operations. */
  readonly access: Access | undefined;
  /** What was thrown while the request was worked on or its stream was sent, before it became a `Problem`. */
  readonly error: unknown;
}

/** Responds to a request. That of the server never rejects; that of an interceptor may. */
export type Respond<Caller = unknown> = (
  request: HttpRequest,
  context: RequestContext<Caller>,
) => Promise<HttpResponse>;

/**
 * Wraps the work on every request of a server, requests that are refused before their handler included. Called once,
 * when the server is created. What the returned function throws is the response, as if a handler had thrown it.
 *
 * ```ts
 * const logged: Interceptor = (next) => async (request, context) => {
 *   const began = performance.now();
 *   const response = await next(request, context);
 *   return onResponseEnd(response, (end) =>
 *     console.log(context.operation?.id, response.status, end, performance.now() - began),
 *   );
 * };
 * ```
 */
export type Interceptor<Caller = unknown> = (next: Respond<Caller>) => Respond<Caller>;

/** `failed`: a stream was cut off by an error. `disconnected`: the client left before the last byte was written. */
export type ResponseEnd = "sent" | "failed" | "disconnected";

/**
 * Returns the same response, which calls back once when its last byte was written or it was cut off. A body that is not
 * streamed counts as sent at once.
 */
export function onResponseEnd(response: HttpResponse, callback: (end: ResponseEnd) => void): HttpResponse {
  const { body } = response;
  if (typeof body !== "function") {
    callback("sent");
    return response;
  }
  return {
    ...response,
    async body(sink) {
      let end: ResponseEnd = "failed";
      try {
        await body(sink);
        end = "sent";
      } finally {
        callback(sink.closed ? "disconnected" : end);
      }
    },
  };
}
