import type { FairShare } from "@heddle/fair-share";
import type { HttpServer, StreamBody } from "@heddle/server-stub";
import { RequestScope, runInScope } from "./request-scope.js";

/** A server whose requests each have a scope, from their beginning until their response is sent. */
export function withScope(server: HttpServer, memory: FairShare, maxBytes: number): HttpServer {
  return (request) => {
    const scope = new RequestScope(request, memory, maxBytes);
    return runInScope(scope, async () => {
      const { body, ...response } = await server(request).catch((error: unknown) => {
        scope.end();
        throw error;
      });
      // An adapter whose client has left does not ask for the body.
      if (typeof body !== "function" || request.signal.aborted) scope.end();
      if (typeof body !== "function") return body === undefined ? response : { ...response, body };
      const scoped: StreamBody = (sink) => runInScope(scope, () => body(sink)).finally(() => scope.end());
      return { ...response, body: scoped };
    });
  };
}
