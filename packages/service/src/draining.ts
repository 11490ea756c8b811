import type { HttpResponse, HttpServer } from "@heddle/server-stub";

/** Requests that come while the service stops are told so for at least this long, so that open connections end in order. */
const tellMs = 300;

export interface Draining {
  server: HttpServer;
  /**
   * From now on every request is refused with 503, and every connection closed with its answer. Resolves when those that
   * were accepted before have been answered; those that are not after `graceMs` are refused then, too.
   */
  drain(graceMs: number): Promise<void>;
}

const stopping = { reason: "The service is stopping", detail: "The service is stopping" };
const refusal = (): HttpResponse => ({
  status: 503,
  headers: { "content-type": "application/json", "retry-after": "5", connection: "close" },
  body: JSON.stringify(stopping),
  drain: true,
});

/** A server that can stop in good order while clients go on sending. */
export function drainable(server: HttpServer): Draining {
  let running = 0;
  let draining = false;
  let idle: (() => void) | undefined;
  /** Of each request that waits for its answer. */
  const refusals = new Set<() => void>();

  function ended(): void {
    running -= 1;
    if (running === 0) idle?.();
  }

  return {
    async server(request) {
      if (draining) return refusal();
      running += 1;
      let refuse = () => {};
      const refused = new Promise<HttpResponse>((resolve) => (refuse = () => resolve(refusal())));
      refusals.add(refuse);
      try {
        const answer = await Promise.race([server(request), refused]);
        const { body } = answer;
        if (typeof body !== "function") return draining ? closing(answer) : answer;
        running += 1;
        return { ...(draining ? closing(answer) : answer), body: (sink) => body(sink).finally(ended) };
      } finally {
        refusals.delete(refuse);
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
      for (const refuse of refusals) refuse();
    },
  };
}

const closing = <Answer extends { headers: Record<string, string> }>(answer: Answer): Answer => ({
  ...answer,
  headers: { ...answer.headers, connection: "close" },
});
