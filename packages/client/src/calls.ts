import type { Connection, RequestOptions } from "./connection.js";
import { HeddleApiError } from "./error.js";
import { callsPage, callsTail } from "./generated/tracing.js";
import type { CallsPageReq, CallsPageRes, CallsTailReq, CallTailEvent } from "./generated/tracing.js";
import { mayPass, wait } from "./retry.js";

/**
 * The pages of a list of calls, each asked for when it is needed, up to the last one.
 *
 * ```ts
 * for await (const { calls } of callPages(connection, { project_id: "acme/demo", select: ["name"] })) console.log(calls.length);
 * ```
 */
export async function* callPages(
  connection: Connection<"tracing">,
  request: CallsPageReq,
  options?: RequestOptions,
): AsyncGenerator<CallsPageRes, void, undefined> {
  const isBackwards = request.before !== undefined && request.before !== null;
  for (let next = request; ;) {
    const page = await callsPage(connection, next, options);
    yield page;
    if (!page.has_more) return;
    const { at_time: _, ...rest } = request;
    next = isBackwards ? { ...rest, before: page.previous } : { ...rest, after: page.next };
  }
}

const longestWait = 8_000;
const firstWait = 250;

/**
 * The changes of calls, for as long as the loop goes on: a tail that ends or breaks is followed by another one, which begins
 * after what was seen. Changes of one commit may then come twice. Ends after `seconds`, where the request has that, and throws
 * what trying again does not change.
 *
 * ```ts
 * const { seq } = await callsPage(connection, { project_id });
 * for await (const event of followCalls(connection, { project_id, after: seq, select: ["name", "status"] })) show(event);
 * ```
 */
export async function* followCalls(
  connection: Connection<"tracing">,
  request: CallsTailReq,
  options: RequestOptions = {},
): AsyncGenerator<CallTailEvent, void, undefined> {
  const { signal } = options;
  /** Everything up to here has come. */
  let after = request.after;
  for (let attempt = 0; ; attempt++) {
    let last: string | undefined;
    try {
      for await (const event of callsTail(connection, { ...request, after }, options)) {
        const { seq, kind } = event;
        attempt = 0;
        // Events of one commit have the same sequence: the one before is complete.
        if (kind === "caught_up" || kind === "gap") after = seq;
        else if (last !== undefined && last !== seq) after = last;
        last = seq;
        yield event;
      }
      if (request.seconds !== undefined && request.seconds !== null) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof HeddleApiError) || !mayPass(error)) throw error;
      const most = Math.max((error.retryAfter ?? 0) * 1000, Math.min(longestWait, firstWait * 2 ** attempt));
      await wait(most * (1 - Math.random() / 2), signal);
    }
    signal?.throwIfAborted();
  }
}
