import type { EngineLibrary } from "./library.js";
import { ServerError } from "./server-error.js";
import { startSessionThread } from "./session-thread.js";
import type { SessionThread } from "./session-thread.js";
import type { WorkerData } from "./worker-protocol.js";

/** Threads that may work at once; each costs about 10 MB. The rest of the requests wait in line. */
export const maxThreads = 16;
const maxWaiting = 512;

export interface SessionPool {
  /**
   * Reserves a thread until `release`. Waits in line when all are in use; throws the server's
   * error 202 when the line is too long, and the signal's reason when it aborts meanwhile.
   */
  acquire(signal: AbortSignal): Promise<SessionThread>;
  release(thread: SessionThread): void;
  /** Closes the sessions of all threads; no request may be running. */
  close(): Promise<void>;
}

interface Waiting {
  resolve(thread: SessionThread): void;
  reject(error: Error): void;
}

/** Starts with one thread. From the first request on one is kept in reserve: to start it is slow when others work. */
export async function openSessionPool(library: EngineLibrary, workerData: WorkerData): Promise<SessionPool> {
  const idle: SessionThread[] = [await startSessionThread(library, workerData)];
  const line: Waiting[] = [];
  let threads = 1;
  let starting = 0;

  async function addThread(): Promise<void> {
    threads++;
    starting++;
    try {
      const thread = await startSessionThread(library, workerData);
      starting--;
      release(thread);
    } catch (error) {
      starting--;
      threads--;
      // Without a thread the waiting requests would wait indefinitely.
      if (threads === 0) for (const waiting of line.splice(0)) waiting.reject(error as Error);
    }
  }

  function keepReserve(): void {
    if (idle.length + starting <= line.length && threads < maxThreads) void addThread();
  }

  function release(thread: SessionThread): void {
    if (thread.failed) {
      threads--;
      keepReserve();
      return;
    }
    const next = line.shift();
    if (next) next.resolve(thread);
    else idle.push(thread);
  }

  function takeIdle(): SessionThread | undefined {
    const thread = idle.pop();
    if (!thread?.failed) return thread;
    threads--;
    return takeIdle();
  }

  function waitInLine(signal: AbortSignal): Promise<SessionThread> {
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
  }

  return {
    release,
    async close() {
      await Promise.all(idle.map((thread) => thread.renew()));
    },
    async acquire(signal) {
      signal.throwIfAborted();
      const thread = takeIdle();
      if (!thread && line.length >= maxWaiting) {
        const text = "Too many simultaneous queries.";
        throw ServerError.of(202, "TOO_MANY_SIMULTANEOUS_QUERIES", text);
      }
      const taken = thread ?? waitInLine(signal);
      keepReserve();
      return taken;
    },
  };
}
