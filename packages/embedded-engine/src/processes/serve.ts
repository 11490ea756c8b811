import { writeFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { HeddleError } from "@heddle/errors";
import type { ChildMessage, Methods, ParentMessage, ParentMessageBatch } from "./protocol.js";
import { collectEvents } from "./collect-events.js";
import { startHeartbeat } from "./heartbeat.js";
import { toWireError } from "@heddle/concurrency";

interface CallContext<Event> {
  signal: AbortSignal;
  /** The promise resolves when the event is on its way: what produces faster than the parent reads should wait for it. */
  emit: (event: Event) => Promise<void>;
}

export type Handlers<M extends Methods<M>> = {
  [K in keyof M]: (params: M[K]["params"], context: CallContext<M[K]["event"]>) => Promise<M[K]["result"]>;
};

/**
 * Serves the parent's calls in this child process. Calls run concurrently; handlers that need an order enforce it. The
 * first argument of the process is its niceness relative to the parent.
 */
export function serve<M extends Methods<M>>(handlers: Handlers<M>): void {
  // The parent decides when its children exit; Ctrl-C in a terminal reaches all of them.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => undefined);
  process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
  // The heartbeat thread is started first, so that it keeps the normal priority.
  const heartbeatStarted = startHeartbeat();
  lowerPriority();

  const running = new Map<number, AbortController>();
  const { emit, flush } = collectEvents(sendToParent);
  let ending = false;
  const endWhenIdle = (): void => {
    if (ending && running.size === 0) process.exit(0);
  };

  process.on("message", (messages: ParentMessageBatch) => {
    for (const message of messages) {
      if (message.type === "call") void run(message);
      else if (message.type === "abort") running.get(message.id)?.abort();
      else ending = true;
    }
    endWhenIdle();
  });

  async function run({ id, method, params }: Extract<ParentMessage, { type: "call" }>): Promise<void> {
    const controller = new AbortController();
    running.set(id, controller);
    try {
      const handler = Object.hasOwn(handlers, method) ? handlers[method as keyof M] : undefined;
      if (!handler) throw new HeddleError("unsupported", `unknown method ${method}`);
      const value = await handler(params, { signal: controller.signal, emit: (event) => emit(id, event) });
      await heartbeatStarted;
      flush();
      await sendToParent({ type: "result", id, value });
    } catch (error) {
      flush();
      await sendToParent({ type: "error", id, error: toWireError(error) });
    } finally {
      running.delete(id);
      endWhenIdle();
    }
  }
}

/** Resolves when the message has been sent. A missing parent is ignored. */
function sendToParent(message: ChildMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    try {
      process.send?.(message, undefined, undefined, () => resolve());
    } catch (error) {
      reject(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

/**
 * Lowers the CPU priority below the service and sampling, and makes this process the first that is killed by the
 * out-of-memory killer, where the system allows it.
 */
function lowerPriority(): void {
  const niceness = Number(process.argv[2]);
  try {
    if (niceness > 0) setPriority(Math.min(getPriority() + niceness, 19));
  } catch {
    // Not permitted: the process runs with normal priority.
  }
  try {
    writeFileSync("/proc/self/oom_score_adj", "500");
  } catch {
    // Not Linux, or not permitted.
  }
}
