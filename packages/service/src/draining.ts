import type { HttpServer } from "@heddle/server-stub";

/** Requests that come while the service stops are told so for at least this long, so that open connections end in order. */
const tellMs = 300;

export interface Draining {
  server: HttpServer;
  /**
   * From now on every request is refused with 503, and every connection closed with its answer. Resolves when those that
   * were accepted before have been answered, or after `graceMs`.
   */
  drain(graceMs: number): Promise<void>;
}

const stopping = { reason: "The service is stopping", detail: "The service is stopping" };

/** A server that can stop in good order while clients go on sending. */
export function drainable(server: HttpServer): Draining {
  let running = 0;
  let draining = false;
  let idle: (() => void) | undefined;

  function ended(): void {
    running -= 1;
    if (running === 0) idle?.();
  }

  return {
    async server(request) {
      if (draining) {
        return {
          status: 503,
          headers: { "content-type": "application/json", "retry-after": "5", connection: "close" },
          body: JSON.stringify(stopping),
          drain: true,
        };
      }
      running += 1;
      try {
        const answer = await server(request);
        const { body } = answer;
        if (typeof body !== "function") return draining ? closing(answer) : answer;
        running += 1;
        return { ...(draining ? closing(answer) : answer), body: (sink) => body(sink).finally(ended) };
      } finally {
        ended();
      }
    },

    async drain(graceMs) {
      draining = true;
      let timer: NodeJS.Timeout | undefined;
      const allAnswered = new Promise<void>((resolve) => {
        if (running === 0) resolve();
        else idle = resolve;
      });
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs)));
      const told = new Promise<void>((resolve) => setTimeout(resolve, tellMs));
      await Promise.all([told, Promise.race([allAnswered, late])]);
      clearTimeout(timer);
    },
  };
}

const closing = <Answer extends { headers: Record<string, string> }>(answer: Answer): Answer => ({
  ...answer,
  headers: { ...answer.headers, connection: "close" },
});
