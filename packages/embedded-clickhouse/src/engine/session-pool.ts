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

interface Waiting {
  resolve(thread: SessionThread): void;
  reject(error: Error): void;
}

/** Threads start when they are needed: one idle, and as many more as there were requests at the same time. */
export async function openSessionPool(workerData: WorkerData): Promise<SessionPool> {
  const idle: SessionThread[] = [await startSessionThread(workerData)];
  const line: Waiting[] = [];
  let threads = 1;

  async function addThread(): Promise<void> {
    threads++;
    try {
      release(await startSessionThread(workerData));
    } catch (error) {
      threads--;
      // With no thread left nobody would ever come to those who wait.
      if (threads === 0) for (const waiting of line.splice(0)) waiting.reject(error as Error);
    }
  }

  function release(thread: SessionThread): void {
    if (thread.dead) {
      threads--;
      if (line.length > 0 || threads === 0) void addThread();
      return;
    }
    const next = line.shift();
    if (next) next.resolve(thread);
    else idle.push(thread);
  }

  return {
    release,
    acquire(signal) {
      signal.throwIfAborted();
      const thread = idle.pop();
      if (thread && !thread.dead) return Promise.resolve(thread);
      if (thread) threads--;
      if (line.length >= maxWaiting) {
        const text = "Too many simultaneous queries.";
        return Promise.reject(ServerError.of(202, "TOO_MANY_SIMULTANEOUS_QUERIES", text));
      }
      if (threads < maxThreads) void addThread();
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          line.splice(line.indexOf(waiting), 1);
          reject(signal.reason as Error);
        };
        const waiting: Waiting = {
          resolve(thread) {
            signal.removeEventListener("abort", leave);
            resolve(thread);
          },
          reject,
        };
        line.push(waiting);
        signal.addEventListener("abort", leave, { once: true });
      });
    },
  };
}
