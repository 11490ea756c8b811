import type { ResourceLimits } from "node:worker_threads";
import { HeddleError } from "@heddle/errors";
import { FairQueue } from "../fair-queue.js";
import type { Turn } from "../fair-queue.js";
import type { Sharer } from "../fair-share.js";
import type { ComputingBudget } from "./computing-budget.js";
import type { Tasks } from "./serve-tasks.js";
import { TaskThread } from "./task-thread.js";

export interface FairThreadsOptions {
  /** URL of the TypeScript source of a module that calls `serveTasks`. */
  module: URL;
  /** Threads at the same time, at least two: one entity has all but one of them. */
  threads: number;
  /** Of each thread. A task that needs more memory fails with `too_large`. */
  resourceLimits?: ResourceLimits;
  workerData?: unknown;
  /** Tasks of one key that wait, and of all keys together. */
  waitingPerKey: number;
  waiting: number;
  /** Why a task is refused: too many of its key wait, or too many of all. */
  messages: Readonly<Record<"key" | "all", string>>;
}

export interface TaskOptions {
  /** For whom. */
  sharer: Sharer | undefined;
  /** Computing time, without the time that the task waits. */
  timeMs: number;
  /** Ends the task, also one that waits. */
  signal?: AbortSignal | undefined;
  /** Memory of the request that the thread gets instead of a copy. */
  transfer?: readonly ArrayBuffer[] | undefined;
  /** What the tasks of a job may take together. */
  budget?: ComputingBudget | undefined;
}

interface Task {
  name: string;
  request: unknown;
  options: TaskOptions;
  /** Nobody waits for it any more, or it has its result. */
  isSettled: boolean;
  /** What does it now. */
  thread?: TaskThread;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A task whose caller has left may go on for so long, which is cheaper than another thread. */
const graceMs = 100;

/**
 * Worker threads that compute for whoever asks, in turns by entity and key. A task that takes longer than it may, or needs
 * too much memory, fails alone: its thread is replaced. Threads are started when they are needed.
 */
export class FairThreads<Served extends Tasks> {
  readonly #options: FairThreadsOptions;
  readonly #queue: FairQueue<Task>;
  /** With what each of them does. */
  readonly #threads = new Map<TaskThread, Task | undefined>();

  constructor(options: FairThreadsOptions) {
    const { threads, waiting, waitingPerKey, messages } = options;
    this.#options = options;
    this.#queue = new FairQueue({ perEntity: threads - 1, waiting, waitingPerKey, messages });
  }

  /** The most that the heaps of all threads take together, in bytes; undefined without a limit. */
  get heapBytes(): number | undefined {
    const { threads, resourceLimits } = this.#options;
    const megabytes = resourceLimits?.maxOldGenerationSizeMb;
    return megabytes === undefined ? undefined : threads * megabytes * 2 ** 20;
  }

  get load(): { threads: number; waiting: number } {
    return { threads: this.#threads.size, waiting: this.#queue.waiting };
  }

  /**
   * Does a task. Throws what it throws, `too_large` when it takes too long or needs too much memory, `rate_limited` and
   * `busy` when too many tasks wait, and the signal's reason when that aborts.
   */
  async run<Name extends keyof Served & string>(
    name: Name,
    request: Parameters<Served[Name]>[0],
    options: TaskOptions,
  ): Promise<Awaited<ReturnType<Served[Name]>>> {
    const { signal, sharer } = options;
    signal?.throwIfAborted();
    let leave = () => {};
    try {
      return (await new Promise<unknown>((resolve, reject) => {
        const task: Task = { name, request, options, isSettled: false, resolve, reject };
        const remove = this.#queue.add(sharer, task);
        leave = () => {
          task.isSettled = true;
          remove();
          reject(signal?.reason as Error);
          abandon(task);
        };
        signal?.addEventListener("abort", leave, { once: true });
        this.#startTasks();
      })) as Awaited<ReturnType<Served[Name]>>;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  /** Ends the threads that work for nobody, and resolves when they are gone. Later tasks start others. */
  async endUnused(): Promise<void> {
    const unused = [...this.#threads].filter(([, task]) => task === undefined || task.isSettled);
    for (const [thread] of unused) thread.end(new HeddleError("aborted", "the thread is not needed"));
    await Promise.all(unused.map(async ([thread]) => thread.gone));
  }

  #startTasks(): void {
    for (let thread = this.#freeThread(); thread !== undefined; thread = this.#freeThread()) {
      const turn = this.#queue.take();
      if (turn === undefined) return;
      const free = thread === "new" ? this.#open() : thread;
      this.#threads.set(free, turn.item);
      void this.#work(free, turn);
    }
  }

  #freeThread(): TaskThread | "new" | undefined {
    for (const [thread, task] of this.#threads) if (task === undefined && !thread.hasEnded) return thread;
    return this.#threads.size < this.#options.threads ? "new" : undefined;
  }

  #open(): TaskThread {
    const { module, resourceLimits, workerData } = this.#options;
    const thread = new TaskThread(module, { ...(resourceLimits && { resourceLimits }), workerData });
    void this.#replace(thread);
    return thread;
  }

  /** When the thread is gone, another may be started. */
  async #replace(thread: TaskThread): Promise<void> {
    await thread.gone;
    this.#threads.delete(thread);
    this.#startTasks();
  }

  async #work(thread: TaskThread, turn: Turn<Task>): Promise<void> {
    await thread.ready;
    const ms = await this.#do(thread, turn.item);
    // Until it is gone, a thread counts as one of its entity.
    if (thread.hasEnded) await thread.gone;
    else this.#threads.set(thread, undefined);
    turn.end(ms);
    this.#startTasks();
  }

  /** Returns the time that the task took. */
  async #do(thread: TaskThread, task: Task): Promise<number> {
    const { name, request, options } = task;
    if (task.isSettled) return 0;
    try {
      options.budget?.check();
    } catch (error) {
      task.reject(error);
      return 0;
    }
    task.thread = thread;
    const outcome = await thread.do({ name, request }, options.timeMs, options.transfer);
    delete task.thread;
    task.isSettled = true;
    options.budget?.spend(outcome.ms);
    if ("value" in outcome) task.resolve(outcome.value);
    else task.reject(outcome.error);
    return outcome.ms;
  }
}

/** Ends what a thread does for a caller who has left, unless it is nearly done. */
function abandon(task: Task): void {
  if (task.thread === undefined) return;
  setTimeout(() => task.thread?.end(new HeddleError("aborted", "the caller has left")), graceMs);
}
