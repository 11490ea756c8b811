import type { HttpResponse, HttpServer } from "@heddle/server-stub";
import { stopping } from "../http/stopping.js";

/** The service responds with 503 for at least this long before it closes, so that open connections end in order. */
const refuseMs = 300;

export interface Draining {
  server: HttpServer;
  /**
   * From now on every request is refused with 503, and every connection closed with its response. Resolves when the
   * requests that were accepted before have their response; those without one after `graceMs` are then refused, too.
   */
  drain(graceMs: number): Promise<void>;
}

/** Wraps a server so that it can stop while clients go on sending. */
export function drainable(server: HttpServer): Draining {
  let running = 0;
  let draining = false;
  let idle: (() => void) | undefined;
  /** One per request without a response yet. */
  const refusals = new Set<() => void>();

  function ended(): void {
    running -= 1;
    if (running === 0) idle?.();
  }

  return {
    async server(request) {
      if (draining) return stopping();
      running += 1;
      let refuse = () => {};
      try {
        // One promise in place of a race of several: it is made for each request.
        const response = await new Promise<HttpResponse>((resolve, reject) => {
          refuse = () => resolve(stopping());
          refusals.add(refuse);
          server(request).then(resolve, reject);
        });
        const { body } = response;
        if (typeof body !== "function") return draining ? closing(response) : response;
        running += 1;
        return { ...(draining ? closing(response) : response), body: (sink) => body(sink).finally(ended) };
      } finally {
        refusals.delete(refuse);
        ended();
      }
    },

    async drain(graceMs) {
      draining = true;
      let timer: NodeJS.Timeout | undefined;
      const allCompleted = new Promise<void>((resolve) => {
        if (running === 0) resolve();
        else idle = resolve;
      });
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs)));
      const refusedLongEnough = new Promise<void>((resolve) => setTimeout(resolve, refuseMs));
      await Promise.all([refusedLongEnough, Promise.race([allCompleted, late])]);
      clearTimeout(timer);
      for (const refuse of refusals) refuse();
    },
  };
}

const closing = <Response extends { headers: Record<string, string> }>(response: Response): Response => ({
  ...response,
  headers: { ...response.headers, connection: "close" },
});
