import { parentPort } from "node:worker_threads";
import { HeddleError } from "@heddle/errors";
import { runInBackground } from "./background-thread.js";
import { toWireError } from "./wire-error.js";
import type { WireError } from "./wire-error.js";

/** What a thread can do, by name. Requests and results are plain data. */
export type Tasks = Readonly<Record<string, (request: never) => unknown>>;

export interface TaskRequest {
  name: string;
  request: unknown;
}

/** `ms`: the time that the task took. */
export type TaskReply = { ready: true } | { value: unknown; ms: number } | { error: WireError; ms: number };

/** Makes the current worker thread a thread of {@link FairThreads}: one task at a time, in the background. */
export function serveTasks(tasks: Tasks): void {
  runInBackground();
  parentPort?.on("message", ({ name, request }: TaskRequest) => void serve(tasks, name, request));
  reply({ ready: true });
}

async function serve(tasks: Tasks, name: string, request: unknown): Promise<void> {
  const began = performance.now();
  const ms = () => performance.now() - began;
  try {
    const value = await tasks[name]?.(request as never);
    reply({ value, ms: ms() });
  } catch (error) {
    reply({ error: errorOf(error), ms: ms() });
  }
}

/** The message of a defect is in the log. */
function errorOf(error: unknown): WireError {
  const wire = toWireError(error);
  return error instanceof HeddleError || wire.code !== "failed" ? wire : { code: "failed", message: "internal error" };
}

function reply(message: TaskReply): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);
}
