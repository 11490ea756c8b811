import { availableParallelism } from "node:os";
import { HeddleError } from "@heddle/errors";
import type { ComputingBudget, Sharer } from "@heddle/concurrency";
import { FairThreads } from "@heddle/concurrency";
import { currentSharer } from "../limits/request-scope.js";
import type { tasks } from "./tasks.js";

type ComputingTasks = typeof tasks;

/** One entity has all threads but one. The event loop and the engines need the processor, too. */
const mostThreads = 4;
const maxThreads = Math.min(mostThreads, Math.max(2, availableParallelism() - 1));
/** Of one thread: for values as large as a request may have. */
const heapMb = 512;
/** The most that the heaps of all threads take, on a machine that has all of them. */
export const computingHeapBytes = mostThreads * heapMb * 2 ** 20;
/** For one task: a score, a template, a check. */
const taskMs = 2000;

/** Of the process: services in it share them. */
const threads = new FairThreads<ComputingTasks>({
  module: new URL("computing-thread.ts", import.meta.url),
  threads: maxThreads,
  resourceLimits: { maxOldGenerationSizeMb: heapMb, stackSizeMb: 4 },
  // A job has one task waiting per scorer of the rows that it works on.
  waitingPerKey: 100_000,
  waiting: 1_000_000,
  messages: {
    key: "too many templates, scores and checks of this key wait: try again later",
    all: "too many templates, scores and checks wait: try again later",
  },
});

/** Computes in threads for one request or job, in turns with the others. */
export class Computing {
  readonly #sharer: Sharer | undefined;
  readonly #budget: ComputingBudget | undefined;

  /** `budget` limits all tasks together. */
  constructor(sharer: Sharer | undefined, budget?: ComputingBudget) {
    this.#sharer = sharer;
    this.#budget = budget;
  }

  /** For the request that the running code works for. */
  static ofRequest(budget?: ComputingBudget): Computing {
    return new Computing(currentSharer(), budget);
  }

  /** Throws when the budget is used up. */
  checkBudget(): void {
    this.#budget?.check();
  }

  /**
   * Does a task. Throws what it throws, `too_large` when it takes too long or needs too much memory, `rate_limited` and
   * `busy` when too many tasks wait, what the budget throws, and `aborted` when `signal` ended it.
   */
  async run<Name extends keyof ComputingTasks>(
    name: Name,
    request: Parameters<ComputingTasks[Name]>[0],
    { signal, timeMs = taskMs }: { signal?: AbortSignal; timeMs?: number } = {},
  ): Promise<Awaited<ReturnType<ComputingTasks[Name]>>> {
    const options = { sharer: this.#sharer, budget: this.#budget, signal, timeMs };
    return await threads.run(name, request, options).catch((error: unknown) => {
      const isAborted = signal?.aborted === true && !(error instanceof HeddleError);
      throw isAborted ? new HeddleError("aborted", "the computing was cancelled", { cause: error }) : error;
    });
  }
}

/** Ends the threads that compute for nobody, and resolves when they are gone. */
export async function endComputing(): Promise<void> {
  await threads.endUnused();
}

/** For tests and observers. */
export function computingLoad(): { threads: number; waiting: number } {
  return threads.load;
}
