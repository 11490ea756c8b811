import { ServerError } from "./server-error.js";
import { startSessionThread, type SessionThread } from "./session-thread.js";
import type { WorkerData } from "./worker-protocol.js";

/** Threads that may work at once; each costs about 10 MB. The rest of the requests wait in line. */
export const maxThreads = 16;
const maxWaiting = 512;

export interface SessionPool {
  /**
   * A thread of one's own until `release`. Waits in line when all are at work; throws the server's
   * error 202 when the line is too long, and the signal's reason when it aborts meanwhile.
   */
  acquire(signal: AbortSignal): Promise<SessionThread>;
  release(thread: SessionThread): void;
}

/** Threads start when they are needed: one idle, and as many more as there were requests at the same time. */
export async function openSessionPool(workerData: WorkerData): Promise<SessionPool> {
  const idle: SessionThread[] = [await startSessionThread(workerData)];
  const line: Array<(thread: SessionThread) => void> = [];
  let threads = 1;

  async function addThread(): Promise<void> {
    threads++;
    try {
      release(await startSessionThread(workerData));
    } catch {
      threads--;
    }
  }

  function release(thread: SessionThread): void {
    if (thread.dead) {
      threads--;
      if (line.length > 0 || threads === 0) void addThread();
      return;
    }
    const next = line.shift();
    if (next) next(thread);
    else idle.push(thread);
  }

  return {
    release,
    acquire(signal) {
      signal.throwIfAborted();
      const thread = idle.pop();
      if (thread) return Promise.resolve(thread);
      if (line.length >= maxWaiting) {
        const text = "Too many simultaneous queries.";
        return Promise.reject(ServerError.of(202, "TOO_MANY_SIMULTANEOUS_QUERIES", text));
      }
      if (threads < maxThreads) void addThread();
      return new Promise((resolve, reject) => {
        const next = (thread: SessionThread): void => {
          signal.removeEventListener("abort", leave);
          resolve(thread);
        };
        const leave = (): void => {
          line.splice(line.indexOf(next), 1);
          reject(signal.reason as Error);
        };
        line.push(next);
        signal.addEventListener("abort", leave, { once: true });
      });
    },
  };
}
