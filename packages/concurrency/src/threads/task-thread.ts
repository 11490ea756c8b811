import type { Worker, WorkerOptions } from "node:worker_threads";
import { HeddleError } from "@heddle/errors";
import { startThread } from "./start-thread.js";
import type { TaskReply, TaskRequest } from "./serve-tasks.js";
import { fromWireError } from "./wire-error.js";

/** What came of a task, and the computing time that it took. */
export type TaskOutcome = { value: unknown; ms: number } | { error: HeddleError; ms: number };

/** For a thread that has to load its modules on a busy machine. */
const startMs = 60_000;

interface Pending {
  resolve(outcome: TaskOutcome): void;
  began: number;
  timer: NodeJS.Timeout;
}

/** A worker thread that calls {@link serveTasks}. It does one task at a time, and ends when one takes too long. */
export class TaskThread {
  /** Resolves when the thread can begin, or has ended. */
  readonly ready: Promise<void>;
  /** Resolves when nothing of the thread is left: code that cannot be interrupted may run for a while after its end. */
  readonly gone: Promise<void>;
  readonly #worker: Worker;
  readonly #heapMb: number | undefined;
  #pending: Pending | undefined;
  /** Why it can do nothing any more. */
  #ended: HeddleError | undefined;

  constructor(module: URL, options: WorkerOptions) {
    this.#heapMb = options.resourceLimits?.maxOldGenerationSizeMb;
    const worker = startThread(module, options);
    this.#worker = worker;
    const starting = setTimeout(() => this.end(new HeddleError("failed", "a thread did not start")), startMs);
    let begin = () => {};
    this.ready = new Promise((resolve) => {
      begin = () => {
        clearTimeout(starting);
        // An idle thread must not keep the process running.
        worker.unref();
        resolve();
      };
    });
    worker.on("message", (reply: TaskReply) => ("ready" in reply ? begin() : this.#receive(reply)));
    worker.on("error", (error) => this.#fail(this.#reasonOf(error)));
    this.gone = new Promise((resolve) => {
      worker.on("exit", () => {
        this.#fail(new HeddleError("failed", "a thread has ended"));
        begin();
        resolve();
      });
    });
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Does a task when the thread is ready, which gets `transfer` instead of copies. Never rejects. */
  async do(task: TaskRequest, timeMs: number, transfer: readonly ArrayBuffer[] = []): Promise<TaskOutcome> {
    const began = performance.now();
    if (this.#ended !== undefined) return { error: this.#ended, ms: 0 };
    return await new Promise((resolve) => {
      this.#pending = { resolve, began, timer: this.#watch(timeMs) };
      this.#worker.ref();
      try {
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
        this.#worker.postMessage(task, transfer);
      } catch (error) {
        this.#settle({ error: new HeddleError("too_large", "cannot be sent to a thread", { cause: error }) });
      }
    });
  }

  /** Ends the thread; what it does fails with the error. */
  end(error: HeddleError): void {
    this.#fail(error);
    void this.#worker.terminate();
  }

  /** This thread may have been busy: a reply that has arrived is read before the limit applies. */
  #watch(timeMs: number): NodeJS.Timeout {
    const expire = () => {
      if (this.#pending?.timer === timer) {
        this.end(new HeddleError("too_large", `takes longer than ${Math.round(timeMs)} ms`));
      }
    };
    const timer = setTimeout(() => setImmediate(() => setImmediate(expire)), timeMs);
    return timer;
  }

  #receive(reply: Exclude<TaskReply, { ready: true }>): void {
    if ("value" in reply) this.#settle(reply);
    else this.#settle({ error: fromWireError(reply.error), ms: reply.ms });
  }

  #settle(outcome: { value: unknown; ms: number } | { error: HeddleError; ms?: number }): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    clearTimeout(pending.timer);
    this.#worker.unref();
    const ms = outcome.ms ?? performance.now() - pending.began;
    pending.resolve({ ...outcome, ms });
  }

  #fail(error: HeddleError): void {
    this.#ended ??= error;
    this.#settle({ error: this.#ended });
  }

  #reasonOf(error: unknown): HeddleError {
    if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") {
      return new HeddleError("too_large", `needs more than ${this.#heapMb} MB of memory`);
    }
    return new HeddleError("failed", "a thread has failed", { cause: error });
  }
}
