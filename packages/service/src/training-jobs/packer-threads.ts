import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { Problem } from "@heddle/server-stub";
import { fromWireError, startThread } from "@heddle/threads";
import type { PackerRequest, PackerResponse } from "./packer-protocol.js";
import type { RlRequestHeader } from "./trajectory-packer.js";

/** Bodies that are validated in threads at the same time. */
const maxThreads = 2;
/** Threads that wait for the next body. */
const maxIdle = 1;
/** What one thread may use. */
const heapMb = 1024;

const idle = new Set<PackerThread>();
/** Bodies that wait for a thread. Their senders wait, too: nothing of them is read. */
const waiting: (() => void)[] = [];
let inUse = 0;

/** Returns a thread for one body, as soon as there is one. */
export async function takeThread(): Promise<PackerThread> {
  if (inUse < maxThreads) inUse += 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  const [free] = idle;
  if (free !== undefined) idle.delete(free);
  return free ?? new PackerThread(startThread(new URL("packer-thread.ts", import.meta.url), limits));
}

/** Gives a thread back when its body was read, or is not read to its end. */
export async function returnThread(thread: PackerThread): Promise<void> {
  if (thread.isReady && idle.size < Math.max(maxIdle, waiting.length)) idle.add(thread);
  else await thread.end();
  const next = waiting.shift();
  if (next === undefined) inUse -= 1;
  else next();
}

const limits = { resourceLimits: { maxOldGenerationSizeMb: heapMb } };

/** Packs one body at a time. */
export class PackerThread {
  /** Whether the thread can begin with another body. */
  isReady = true;
  readonly #worker: Worker;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.unref();
    worker.on("error", () => {
      this.isReady = false;
      idle.delete(this);
    });
  }

  async push(chunk: Uint8Array): Promise<Uint8Array> {
    const response = await this.#ask({ chunk });
    if ("lines" in response) return response.lines;
    throw new TypeError("the thread returned no lines");
  }

  async finish(): Promise<RlRequestHeader> {
    const response = await this.#ask({ chunk: null });
    if ("header" in response) return response.header;
    throw new TypeError("the thread returned no header");
  }

  async end(): Promise<void> {
    this.isReady = false;
    await this.#worker.terminate();
  }

  async #ask(request: PackerRequest): Promise<PackerResponse> {
    this.isReady = false;
    this.#worker.ref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage(request);
    const ended = new AbortController();
    const exited = once(this.#worker, "exit", ended).then(() => Promise.reject(new Error("the thread ended")));
    try {
      // An `error` of the worker rejects `once`.
      const [response] = (await Promise.race([once(this.#worker, "message", ended), exited])) as [PackerResponse];
      // After the end of a body and after an error the thread begins anew.
      this.isReady = !("lines" in response);
      if ("error" in response) throw fromWireError(response.error);
      if ("problem" in response) throw problemOf(response.problem);
      return response;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") {
        throw new Problem(413, "Request too large: one trajectory needs too much memory");
      }
      throw error;
    } finally {
      exited.catch(() => undefined);
      ended.abort();
      this.#worker.unref();
    }
  }
}

function problemOf({ status, message, details }: Extract<PackerResponse, { problem: object }>["problem"]): Problem {
  return details === undefined ? new Problem(status, message) : Problem.invalid(details);
}
