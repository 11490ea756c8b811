import { randomUUID } from "node:crypto";
import { startThread } from "@heddle/concurrency";
import type { EngineLibrary } from "./library.js";
import { ServerError } from "./server-error.js";
import { WholeStatements } from "./whole-statements.js";
import type { WholeRequest, WorkerData, WorkerReply, WorkerRequest, WorkerValue } from "./worker-protocol.js";

/** Runs one statement at a time, one with a result of any size on a thread of its own; its methods are called one after the other. */
export interface SessionThread {
  /** Ends the log comment of its statements, by which they are stopped. */
  readonly marker: string;
  /** Closes its sessions and takes a new marker, so that a late request to stop meets nothing. */
  renew(): Promise<void>;
  run(request: WholeRequest): Promise<WorkerValue>;
  call(request: WorkerRequest): Promise<WorkerValue>;
  /** Set once the thread has died. */
  readonly failed: Error | undefined;
}

export async function startSessionThread(library: EngineLibrary, workerData: WorkerData): Promise<SessionThread> {
  const worker = startThread(new URL("./session-worker.ts", import.meta.url), { workerData });
  let waiting: { resolve(value: WorkerValue): void; reject(error: Error): void } | undefined;
  let failed: Error | undefined;
  let marker = newMarker();
  const whole = new WholeStatements(library, workerData);

  worker.on("message", (reply: WorkerReply) => {
    const asked = waiting;
    waiting = undefined;
    if ("value" in reply) asked?.resolve(reply.value);
    else asked?.reject(ServerError.fromMessage(reply.error));
  });
  worker.on("error", (error: Error) => end(error));
  worker.on("exit", (code) => end(new Error(`session thread ended with code ${code}`)));
  function end(error: Error): void {
    failed ??= error;
    waiting?.reject(failed);
    waiting = undefined;
  }

  const nextReply = (): Promise<WorkerValue> =>
    new Promise((resolve, reject) => {
      if (failed) reject(failed);
      else waiting = { resolve, reject };
    });

  function call(request: WorkerRequest): Promise<WorkerValue> {
    const reply = nextReply();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(request);
    return reply;
  }

  await nextReply();
  return {
    get failed() {
      return failed;
    },
    get marker() {
      return marker;
    },
    async renew() {
      marker = newMarker();
      whole.close();
      await call({ do: "closeSessions" }).catch(() => undefined);
    },
    run: (request) => whole.run(request),
    call,
  };
}

const newMarker = (): string => ` thread ${randomUUID()}`;
